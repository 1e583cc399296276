import type { Database } from 'better-sqlite3'
import { guard } from './sqlite-connection.ts'

/** Tells whether anything was committed since; see `Store.generation`. */
export interface Generation {
  current(): number
  /** To be called after each commit of this process. */
  committed(): void
}

/**
 * Asks SQLite once a turn of the event loop: measured, `PRAGMA data_version` takes 4 µs because it
 * locks, a third of what a whole poll may take. `watching` must have no other use: within a
 * transaction it would go on answering what was true when that began.
 */
export function createGeneration(watching: Database): Generation {
  const version = guard(() => watching.prepare<[], number>('PRAGMA data_version').pluck())
  let known: number | null = null
  const forget = (): void => {
    known = null
  }
  return {
    current() {
      if (known !== null) return known
      known = guard(() => version.get()) ?? 0
      setImmediate(forget)
      return known
    },
    committed: forget,
  }
}
