import { basename, dirname } from 'node:path'
import type { PlaceholderJournal, PlaceholderRecord } from './placeholder-journal.ts'
import { createObject, nameObject, removeObject } from './placeholder-object.ts'
import type { Placeholder } from './placeholder-plan.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'

/** The empty objects that keep denied names from being created. They are shared by sandboxes. */
export interface Placeholders {
  /**
   * Makes those that are missing. Resolves with a function that gives them up; the last holder
   * removes each, if it is still the same empty object. Rejects with `ViewRefusal` when a name has
   * come into being meanwhile or cannot be made; then it has left no object behind.
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
  let queue: Promise<unknown> = Promise.resolve()
  /** One change of the journal at a time. */
  const inTurn = <T>(task: () => Promise<T>): Promise<T> => {
    const done = queue.then(task)
    queue = done.catch(() => {})
    return done
  }
  const giveUp = async (paths: readonly string[]): Promise<void> => {
    const dropped: string[] = []
    for (const path of paths) {
      const own = kept.get(path)
      if (own === undefined) continue
      own.holders -= 1
      if (own.holders > 0) continue
      kept.delete(path)
      removeObject(own.record)
      dropped.push(own.record.draft)
    }
    await (kept.size === 0 ? journal.clear() : journal.drop(dropped))
  }

  return {
    hold: (placeholders) =>
      inTurn(async () => {
        const missing = placeholders.filter(({ path }) => !kept.has(path))
        const records = await makeAll(missing, journal, randomName)
        for (const [path, record] of records) kept.set(path, { record, holders: 0 })
        const held = placeholders.map(({ path }) => path)
        for (const path of held) {
          const own = kept.get(path)
          if (own !== undefined) own.holders += 1
        }
        return () => inTurn(() => giveUp(held.splice(0)))
      }),
    isHeld: (path) => kept.has(path),
    recover: () =>
      inTurn(async () => {
        const records = await journal.read()
        for (const record of records) removeObject(record)
        if (records.length > 0) await journal.clear()
      }),
  }
}

/**
 * Makes each object under a random name first, so that the journal knows its inode before it takes
 * the denied name, and so that it never replaces a file. All of them wait for the disk together.
 */
async function makeAll(
  placeholders: readonly Placeholder[],
  journal: PlaceholderJournal,
  randomName: () => string,
): Promise<ReadonlyMap<string, PlaceholderRecord>> {
  const records = new Map(placeholders.map((each) => [each.path, draftOf(each, randomName())]))
  await journal.put([...records.values()])
  let present = ''
  try {
    for (const [path, record] of records) {
      present = path
      records.set(path, { ...record, object: createObject(record) })
    }
    await journal.put([...records.values()])
    for (const [path, record] of records) {
      present = path
      nameObject(record)
    }
    return records
  } catch (error) {
    for (const record of records.values()) removeObject(record)
    await journal.drop([...records.values()].map(({ draft }) => draft))
    throw new ViewRefusal(
      `the denied path ${quotePath(present)} cannot be kept from being created; start the ` +
        'sandbox again, or mount the workspace read-only',
      error,
    )
  }
}

function draftOf({ path, kind }: Placeholder, random: string): PlaceholderRecord {
  const [directory, name] = [dirname(path), basename(path)]
  return { draft: `.palisade-${random}`, directory, name, kind, object: null }
}
