import type { Database } from 'better-sqlite3'
import type { Effect } from '../sql/connection.ts'
import { guard } from './sqlite-error.ts'

/** Tells whether anything was committed since; see `Store.generation`. */
export interface Generation {
  current(of?: 'accounts'): number
  /** To be called after each commit of this process, with what it may have changed. */
  committed(effect: Effect): void
}

/**
 * `writing` must be the connection of all writes of this process: `data_version` tells of the
 * commits of all other connections. While it holds the write lock there can be none of these.
 *
 * Asked once a turn of the event loop: measured, `PRAGMA data_version` takes 4 µs because it locks,
 * a third of what a whole poll may take.
 */
export function createGeneration(writing: Database): Generation {
  const version = guard(() => writing.prepare<[], number>('PRAGMA data_version').pluck())
  let known = guard(() => version.get())
  let isFresh = false
  let all = 0
  let accounts = 0
  const forget = (): void => {
    isFresh = false
  }

  /** Commits of others say nothing of themselves, so they count as everything. */
  function look(): void {
    const current = guard(() => version.get())
    if (current !== known) [all, accounts] = [all + 1, accounts + 1]
    known = current
    isFresh = true
    setImmediate(forget)
  }

  return {
    current(of) {
      if (!isFresh) look()
      return of === 'accounts' ? accounts : all
    },
    committed(effect) {
      if (effect === 'progress') return
      all += 1
      if (effect === 'everything') accounts += 1
    },
  }
}
