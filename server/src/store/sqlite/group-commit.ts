import type { Database } from 'better-sqlite3'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreError } from '../store-error.ts'
import { guard } from './sqlite-error.ts'

/** Upper bounds of a group. */
export interface GroupBounds {
  /** So that the last waits for no more. */
  readonly members: number
  /** So long may other processes wait for the lock. */
  readonly ms: number
  /** After this the event loop goes round, within the group: reads and polls come between. */
  readonly sliceMs: number
}

const BOUNDS: GroupBounds = { members: 64, ms: 50, sliceMs: 10 }

/**
 * Runs pieces of work one after the other, each undone alone when it throws, and makes all that
 * were waiting durable with one commit: flushing to disk takes ten times as long as a small write.
 */
export interface GroupCommit {
  /** Settles after the commit, also when `work` throws: it may have seen others' writes. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Resolves when everything that had arrived is through. */
  drained(): Promise<void>
}

export interface GroupCommitDeps {
  /** Takes the write lock. `arrivedMs` (`performance.now`) is when the first member came. */
  readonly begin: (arrivedMs: number) => Promise<void>
  /** Throws to have the group undone. */
  readonly beforeCommit: () => void
  /**
   * Called at once after the end. `committed`: the kept writes are on disk. `undone`: each member
   * was undone alone. `failed`: the commit failed, and the state of the disk is unknown.
   */
  readonly ended: (how: 'committed' | 'undone' | 'failed') => void
}

interface Member {
  readonly arrivedMs: number
  readonly work: () => Promise<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** Whether a member's writes are part of the group, and how to report the result to the member. */
interface Outcome {
  readonly isKept: boolean
  readonly tell: () => void
}

export function createGroupCommit(
  database: Database,
  deps: GroupCommitDeps,
  bounds = BOUNDS,
): GroupCommit {
  const commit = guard(() => database.prepare('COMMIT'))
  const mark = guard(() => database.prepare('SAVEPOINT member'))
  const undo = guard(() => database.prepare('ROLLBACK TO member'))
  const release = guard(() => database.prepare('RELEASE member'))
  const waiting: Member[] = []
  let running: Promise<void> | null = null

  async function runGroups(): Promise<void> {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      // Members that arrive in the same turn of the event loop share the commit.
      await nextTurn()
      try {
        await deps.begin(first.arrivedMs)
      } catch (error) {
        waiting.shift()
        first.reject(error)
        continue
      }
      for (const tell of await runGroup()) tell()
    }
    running = null
  }

  /** Within the transaction that has begun; ends it, and answers how to tell the members. */
  async function runGroup(): Promise<Outcome['tell'][]> {
    const members: Member[] = []
    const outcomes: Outcome[] = []
    const untilMs = performance.now() + bounds.ms
    let sliceUntilMs = performance.now() + bounds.sliceMs
    try {
      do {
        // In slices: a commit at each turn would make slow machines flush for every few members.
        // Once more at the end: callers answered by the last commit are about to ask again.
        if (waiting.length === 0 || performance.now() >= sliceUntilMs) {
          await nextTurn()
          sliceUntilMs = performance.now() + bounds.sliceMs
        }
        const member = waiting.shift()
        if (member === undefined) break
        members.push(member)
        outcomes.push(await attempt(member))
      } while (members.length < bounds.members && performance.now() < untilMs)
      const isKept = outcomes.some((outcome) => outcome.isKept)
      end(isKept)
      deps.ended(isKept ? 'committed' : 'undone')
      return outcomes.map(({ tell }) => tell)
    } catch (error) {
      // SQLite has rolled back by itself after some failures, such as a full disk.
      deps.ended('failed')
      if (database.inTransaction) guard(() => database.exec('ROLLBACK'))
      const failure = asUnavailable(error)
      return members.map(
        ({ reject }) =>
          () =>
            reject(failure),
      )
    }
  }

  function end(hasWrites: boolean): void {
    if (hasWrites) deps.beforeCommit()
    // A commit would flush pages that were written and undone again.
    guard(() => (hasWrites ? commit.run() : database.exec('ROLLBACK')))
  }

  /** Throws when the transaction is lost, or the member's writes cannot be kept. */
  async function attempt({ work, resolve, reject }: Member): Promise<Outcome> {
    let value: unknown
    guard(() => mark.run())
    try {
      value = await work()
    } catch (error) {
      if (!database.inTransaction) throw error
      guard(() => undo.run())
      guard(() => release.run())
      return { isKept: false, tell: () => reject(error) }
    }
    // A failed release does not undo this member alone: its caller has already cached the writes.
    guard(() => release.run())
    return { isKept: true, tell: () => resolve(value as never) }
  }

  return {
    run<T>(work: () => Promise<T>): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      waiting.push({ arrivedMs: performance.now(), work, resolve, reject })
      running ??= runGroups()
      return promise
    },
    async drained() {
      await running
    },
  }
}

/** An effect of one member's statement on the transaction is no conflict of the other members. */
function asUnavailable(error: unknown): unknown {
  if (error instanceof StoreError && error.code === 'ERR_STORE_UNAVAILABLE') return error
  return new StoreError('ERR_STORE_UNAVAILABLE', 'the commit failed; nothing was written', {
    cause: error,
  })
}
