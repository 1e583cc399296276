import type { Stats } from 'node:fs'

/**
 * The objects of which a copy-out took a name while others remain. That changes the time of the
 * object, which stands for a change from outside otherwise.
 */
export interface TakenInodes {
  /** Call it with the status before the name went away. */
  add(former: Stats): void
  /** Time of the last change by others, in milliseconds. */
  changedMs(status: Stats): number
}

export function createTakenInodes(): TakenInodes {
  const taken = new Set<string>()
  const keyOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`
  return {
    add(former) {
      if (former.nlink > 1) taken.add(keyOf(former))
      // The number may belong to another object next.
      else taken.delete(keyOf(former))
    },
    changedMs: (status) => (taken.has(keyOf(status)) ? status.mtimeMs : status.ctimeMs),
  }
}
