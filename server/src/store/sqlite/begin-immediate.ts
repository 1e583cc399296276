import Sqlite, { type Database } from 'better-sqlite3'
import { setTimeout } from 'node:timers/promises'
import { StoreError } from '../store-error.ts'
import { guard } from './sqlite-error.ts'

const PAUSE_MS = 5

/**
 * Takes the write lock, or throws `ERR_STORE_UNAVAILABLE` when another process holds it beyond
 * `deadline` (`performance.now`).
 */
export type BeginImmediate = (deadline: number) => Promise<void>

/**
 * SQLite's own wait would hold up the whole process; a connection that begins here has
 * `busy_timeout = 0`.
 */
export function createBeginImmediate(database: Database): BeginImmediate {
  const begin = guard(() => database.prepare('BEGIN IMMEDIATE'))
  return async (deadline) => {
    for (;;) {
      try {
        guard(() => begin.run())
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw error
      }
      await setTimeout(PAUSE_MS)
    }
  }
}

function isBusy(error: unknown): boolean {
  return (
    error instanceof StoreError &&
    error.cause instanceof Sqlite.SqliteError &&
    error.cause.code.startsWith('SQLITE_BUSY')
  )
}
