import Sqlite, { type Database } from 'better-sqlite3'
import { setTimeout } from 'node:timers/promises'
import { StoreError } from '../store-error.ts'
import { guard } from './sqlite-error.ts'

const PAUSE_MS = 5

/**
 * Takes the write lock, or throws `ERR_STORE_UNAVAILABLE` when another process holds it beyond
 * `deadline` (`performance.now`). SQLite's own wait would hold up the whole process; a connection
 * that begins here has `busy_timeout = 0`.
 */
export async function beginImmediate(database: Database, deadline: number): Promise<void> {
  for (;;) {
    try {
      guard(() => database.exec('BEGIN IMMEDIATE'))
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error
    }
    await setTimeout(PAUSE_MS)
  }
}

function isBusy(error: unknown): boolean {
  return (
    error instanceof StoreError &&
    error.cause instanceof Sqlite.SqliteError &&
    error.cause.code.startsWith('SQLITE_BUSY')
  )
}
