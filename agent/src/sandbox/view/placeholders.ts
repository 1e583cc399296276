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
    for (const path of paths) {
      const own = kept.get(path)
      if (own === undefined) continue
      own.holders -= 1
      if (own.holders > 0) continue
      kept.delete(path)
      removeObject(own.record)
      await journal.drop(own.record.draft)
    }
    if (kept.size === 0) await journal.clear()
  }

  return {
    hold: (placeholders) =>
      inTurn(async () => {
        const held: string[] = []
        try {
          for (const placeholder of placeholders) {
            const own = kept.get(placeholder.path)
            if (own === undefined) {
              const record = await make(placeholder, journal, randomName())
              kept.set(placeholder.path, { record, holders: 1 })
            } else {
              own.holders += 1
            }
            held.push(placeholder.path)
          }
        } catch (error) {
          await giveUp(held)
          throw error
        }
        return () => inTurn(() => giveUp(held.splice(0)))
      }),
    isHeld: (path) => kept.has(path),
    recover: () =>
      inTurn(async () => {
        for (const record of await journal.read()) removeObject(record)
        await journal.clear()
      }),
  }
}

/**
 * Makes the object under a random name first, so that the journal knows its inode before it takes
 * the denied name, and so that it never replaces a file.
 */
async function make(
  { path, kind }: Placeholder,
  journal: PlaceholderJournal,
  random: string,
): Promise<PlaceholderRecord> {
  const [directory, name] = [dirname(path), basename(path)]
  const drafted: PlaceholderRecord = {
    draft: `.palisade-${random}`,
    directory,
    name,
    kind,
    object: null,
  }
  await journal.put(drafted)
  let record = drafted
  try {
    record = { ...drafted, object: createObject(drafted) }
    await journal.put(record)
    nameObject(record)
    return record
  } catch (error) {
    removeObject(record)
    await journal.drop(record.draft)
    throw new ViewRefusal(
      `the denied path ${quotePath(path)} cannot be kept from being created; start the sandbox ` +
        'again, or mount the workspace read-only',
      error,
    )
  }
}
