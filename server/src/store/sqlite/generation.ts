import type { Database } from 'better-sqlite3'
import type { Effect } from '../sql/connection.ts'
import { guard } from './sqlite-error.ts'

/** Tells whether anything was committed since; see `Store.generation`. */
export interface Generation {
  current(of?: 'accounts'): number
  /** Must be called after each commit of this process, with the effect of its statements. */
  committed(effect: Effect): void
}

/**
 * `writing` must be the connection of all writes of this process: `data_version` changes with the
 * commits of all other connections. While it holds the write lock there can be no such commit.
 *
 * Read once a turn of the event loop, because `PRAGMA data_version` takes a lock.
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

  /** The effect of another connection's commit is unknown, so it counts as everything. */
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
