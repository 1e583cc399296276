import { basename, dirname } from 'node:path'
import { systemErrorCode } from '../../host/errors.ts'
import { join } from './mount-table.ts'
import type { PlaceholderJournal, PlaceholderRecord } from './placeholder-journal.ts'
import { createObject, isPresent, nameObject, removeObject } from './placeholder-object.ts'
import type { Placeholder } from './placeholder-plan.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'

/** The empty objects that keep denied names from being created. They are shared by sandboxes. */
export interface Placeholders {
  /**
   * Makes those that are missing, also where others hold one that is gone. Resolves with a function
   * that gives them up; the last holder removes each, if it is still the same empty object. Rejects
   * with `ViewRefusal` when a name has come into being meanwhile or cannot be made; then it has
   * left no object behind.
   */
  hold(placeholders: readonly Placeholder[]): Promise<() => Promise<void>>
  /** Whether the object at the path is a placeholder that some sandbox holds. */
  isHeld(path: string): boolean
  /** Removes those of an agent that was killed. Call it once, before the first `hold`. */
  recover(): Promise<void>
}

export interface PlaceholdersDeps {
  readonly journal: PlaceholderJournal
  /** 32 random hexadecimal digits. */
  readonly randomName: () => string
}

export function createPlaceholders({ journal, randomName }: PlaceholdersDeps): Placeholders {
  const kept = new Map<string, { record: PlaceholderRecord; holders: number }>()
  /** Objects that could not be reached, such as in a directory that a command has closed. */
  const left = new Map<string, PlaceholderRecord>()
  let queue: Promise<unknown> = Promise.resolve()
  /** One change of the journal at a time. */
  const inTurn = <T>(task: () => Promise<T>): Promise<T> => {
    const done = queue.then(task)
    queue = done.catch(() => {})
    return done
  }
  /** Removes these, and tries those again that were left. Rejects once all have been tried. */
  const removeAll = async (records: readonly PlaceholderRecord[]): Promise<void> => {
    const all = [...left.values(), ...records]
    if (all.length === 0) return
    const failures: unknown[] = []
    for (const record of all)
      try {
        removeObject(record)
        left.delete(record.draft)
      } catch (error) {
        failures.push(error)
        left.set(record.draft, record)
      }
    const gone = all.map(({ draft }) => draft).filter((draft) => !left.has(draft))
    await (kept.size + left.size === 0 ? journal.clear() : journal.drop(gone))
    if (failures.length > 0) throw failures[0]
  }
  /** A program outside may have removed it, with its directory, or put another in its place. */
  const isHeld = (path: string): boolean => {
    const own = kept.get(path)
    return own !== undefined && isPresent(own.record)
  }
  const giveUp = async (paths: readonly string[]): Promise<void> => {
    const free: PlaceholderRecord[] = []
    for (const path of paths) {
      const own = kept.get(path)
      if (own === undefined) continue
      own.holders -= 1
      if (own.holders > 0) continue
      kept.delete(path)
      free.push(own.record)
    }
    await removeAll(free)
  }

  return {
    hold: (placeholders) =>
      inTurn(async () => {
        const missing = placeholders.filter(({ path }) => !isHeld(path))
        const drafts = missing.map((each) => draftOf(each, randomName()))
        const made = await makeAll(drafts, journal)
        if (made.kind === 'failed') {
          // The refusal matters more than objects that are left for the next removal.
          await removeAll(made.records).catch(() => {})
          throw made.refusal
        }
        for (const record of made.records) {
          const path = pathOf(record)
          kept.set(path, { record, holders: kept.get(path)?.holders ?? 0 })
        }
        const held = placeholders.map(({ path }) => path)
        for (const path of held) {
          const own = kept.get(path)
          if (own !== undefined) own.holders += 1
        }
        return () => inTurn(() => giveUp(held.splice(0)))
      }),
    isHeld,
    recover: () =>
      inTurn(async () => {
        const records = await journal.read()
        // An agent that does not start enforces no rule.
        if (records.length > 0) await removeAll(records).catch(() => {})
      }),
  }
}

type Made =
  | { readonly kind: 'made'; readonly records: readonly PlaceholderRecord[] }
  | {
      readonly kind: 'failed'
      readonly records: readonly PlaceholderRecord[]
      readonly refusal: ViewRefusal
    }

/**
 * Makes each object under a random name first, so that the journal knows its inode before it takes
 * the denied name, and so that it never replaces a file. All of them wait for the disk together.
 */
async function makeAll(
  drafts: readonly PlaceholderRecord[],
  journal: PlaceholderJournal,
): Promise<Made> {
  const records = [...drafts]
  let present: PlaceholderRecord | undefined
  try {
    await journal.put(drafts)
    for (const [index, draft] of drafts.entries()) {
      present = draft
      records[index] = { ...draft, object: createObject(draft) }
    }
    present = undefined
    await journal.put(records)
    for (const record of records) {
      present = record
      nameObject(record)
    }
    return { kind: 'made', records }
  } catch (error) {
    return { kind: 'failed', records, refusal: refusalOf(present, error) }
  }
}

/** Without a record, the journal could not be written. */
function refusalOf(record: PlaceholderRecord | undefined, error: unknown): ViewRefusal {
  const code = systemErrorCode(error)
  const why = code === null ? '' : ` (${code})`
  const isFull = code !== null && FULL.has(code)
  if (record === undefined)
    return new ViewRefusal(
      'denied paths cannot be kept from being created, because the directory of the agent ' +
        `cannot be written${why}${isFull ? '; free some space there' : ''}`,
      error,
    )
  return new ViewRefusal(
    `the denied path ${quotePath(pathOf(record))} cannot be kept from being created${why}; ` +
      `${isFull ? 'free some space there' : 'start the sandbox again'}, or mount the workspace ` +
      'read-only',
    error,
  )
}

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT'])

function draftOf({ path, kind }: Placeholder, random: string): PlaceholderRecord {
  const [directory, name] = [dirname(path), basename(path)]
  return { draft: `.palisade-${random}`, directory, name, kind, object: null }
}

function pathOf({ directory, name }: PlaceholderRecord): string {
  return join(directory, `/${name}`)
}
