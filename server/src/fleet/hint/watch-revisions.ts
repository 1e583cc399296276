import { setTimeout as pause } from 'node:timers/promises'
import type { GrantHolder } from '../../store/access-records.ts'
import type { AccessRequestReader } from '../../store/aggregates/policies/access-request-contract.ts'
import type { Store } from '../../store/store.ts'

/** Between two looks at a number in memory, which the commits of other processes move. */
const LOOK_MS = 100
/** However many changes there are. */
const LEAST_PAUSE_MS = 20
/** After a read that failed. */
const AWAY_MS = 1_000

/** Revisions of organizations by name. */
export type Revisions = ReadonlyMap<string, number>

/** A read after a commit. */
export interface Changes {
  readonly revisions: Revisions
  /** The users whose grants have changed since the read before; null where that is not known. */
  readonly holders: readonly GrantHolder[] | null
}

/** Follows the revisions of all organizations for as long as somebody wants to know. */
export interface RevisionWatch {
  /** Null when something may have been committed since they were read. */
  current(): Revisions | null
  /** Somebody wants to know, or something was committed here. Returns at once. */
  wake(): void
  close(): void
}

/**
 * Calls `onRead` with the changes after each commit, while `isWanted`. They were read `settleMs`
 * before: a machine that is told may ask another server of the same database, which must
 * have seen the change as well.
 */
export function watchRevisions(deps: {
  readonly store: Pick<Store, 'read' | 'generation'>
  readonly settleMs: number
  readonly isWanted: () => boolean
  readonly onRead: (changes: Changes) => Promise<void>
}): RevisionWatch {
  const { store } = deps
  const closing = new AbortController()
  let known: { readonly generation: number; readonly revisions: Revisions } | null = null
  let grantChanges: number | null = null
  let isRunning = false
  let woken = new AbortController()

  const rest = async (ms: number, signal: AbortSignal): Promise<void> =>
    pause(ms, undefined, { signal, ref: false }).catch(() => undefined)

  async function look(): Promise<void> {
    const generation = store.generation()
    if (generation === known?.generation) return
    const before = grantChanges
    const { revisions, count, holders } = await store.read(async (reader) => ({
      revisions: await reader.organizations.revisions(),
      ...(await readHolders(reader.accessRequests, before)),
    }))
    if (deps.settleMs > 0) await rest(deps.settleMs, closing.signal)
    if (closing.signal.aborted) return
    known = { generation, revisions }
    grantChanges = count
    await deps.onRead({ revisions, holders })
  }

  async function run(): Promise<void> {
    while (deps.isWanted() && !closing.signal.aborted) {
      woken = new AbortController()
      try {
        await look()
        await rest(LEAST_PAUSE_MS, closing.signal)
        await rest(LOOK_MS, AbortSignal.any([woken.signal, closing.signal]))
      } catch {
        // While the store is away there are no hints; machines find changes by polling.
        await rest(AWAY_MS, closing.signal)
      }
    }
    isRunning = false
  }

  return {
    current() {
      try {
        return known?.generation === store.generation() ? known.revisions : null
      } catch {
        return null
      }
    },
    wake() {
      // Every change wakes, and each `abort` makes an error with a stack, heard or not.
      if (!woken.signal.aborted) woken.abort()
      if (isRunning || closing.signal.aborted || !deps.isWanted()) return
      isRunning = true
      void run()
    },
    close() {
      closing.abort()
    },
  }
}

/** A count below the former one is of a database that was restored. */
async function readHolders(
  accessRequests: AccessRequestReader,
  before: number | null,
): Promise<{ readonly count: number; readonly holders: Changes['holders'] }> {
  const count = await accessRequests.grantChanges()
  if (before === null || count < before) return { count, holders: null }
  return { count, holders: count === before ? [] : await accessRequests.holdersSince(before) }
}
