import Sqlite from 'better-sqlite3'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Migration } from '../../store/sql/dialect.ts'
import { MIGRATIONS } from '../../store/sql/migrations/migrations.ts'
import { hasOurTables } from '../../store/sqlite/require-own.ts'
import { backUp } from './back-up.ts'

/** Older ones are deleted: each is as large as the database. */
const KEPT = 3

export interface MigrationBackup {
  readonly file: string
  readonly schema: number
}

/**
 * Backs up a database of an older schema beside itself, as `server.db.schema-1`: a migration
 * cannot be reverted. Returns null if no migration is due. Throws CommandFailure, and then the
 * caller must not migrate. `suffix` is as for `backUp`.
 */
export async function backUpBeforeMigration(
  database: string,
  suffix: string,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<MigrationBackup | null> {
  const schema = readSchema(database)
  if (schema === 0 || schema >= migrations.length) return null
  const file = `${database}.schema-${schema}`
  await backUp({ database, file, replace: true, suffix, onProgress: () => undefined })
  deleteOldest(database)
  return { file, schema }
}

/** 0 for a file that is no database of this server; opening the store reports the reason. */
function readSchema(database: string): number {
  const status = statSync(database, { throwIfNoEntry: false })
  if (status?.isFile() !== true || status.size === 0) return 0
  try {
    const connection = new Sqlite(database, { readonly: true, fileMustExist: true })
    try {
      if (!hasOurTables(connection)) return 0
      return Number(connection.pragma('user_version', { simple: true }))
    } finally {
      connection.close()
    }
  } catch (error) {
    if (error instanceof Sqlite.SqliteError) return 0
    throw error
  }
}

function deleteOldest(database: string): void {
  const directory = dirname(database)
  const prefix = `${basename(database)}.schema-`
  const files = readdirSync(directory)
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => join(directory, name))
    .map((path) => ({ path, madeMs: statSync(path).mtimeMs }))
    .toSorted((one, other) => other.madeMs - one.madeMs)
  for (const { path } of files.slice(KEPT)) rmSync(path)
}
