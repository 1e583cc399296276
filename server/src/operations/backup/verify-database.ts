import Sqlite, { type Database } from 'better-sqlite3'
import { existsSync, statSync } from 'node:fs'
import { CommandFailure } from '../../platform/command-failure.ts'
import type { Migration } from '../../store/sql/dialect.ts'
import { MIGRATIONS } from '../../store/sql/migrations/migrations.ts'
import { hasOurTables } from '../../store/sqlite/require-own.ts'
import { describeContent, type TableContent } from './describe-content.ts'
import { findSchemaDifference } from './schema-difference.ts'

/** The facts found in an intact database of this server. */
export interface VerifiedDatabase {
  readonly schema: number
  readonly tables: readonly TableContent[]
  readonly rows: number
}

/** Opens a database that must be there; throws CommandFailure. */
export function openDatabase(path: string, options: { readonly readonly: boolean }): Database {
  // SQLite would wait at a named pipe for somebody to write, deaf to signals.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw refusal(path, 'is not an ordinary file')
  try {
    return new Sqlite(path, { ...options, fileMustExist: true, timeout: 1_000 })
  } catch (error) {
    throw unreadable(path, error)
  }
}

/**
 * Reads the whole database. Its schema must be that of a release that this one knows, and SQLite
 * must find its pages and references in order. Throws CommandFailure, calling it `path`.
 */
export function verifyDatabase(
  database: Database,
  path: string,
  migrations: readonly Migration[] = MIGRATIONS,
): VerifiedDatabase {
  try {
    requireOurs(database, path, migrations)
    requireOurSchema(database, path, migrations)
    const [fault] = database.pragma('integrity_check(1)') as { integrity_check: string }[]
    if (fault?.integrity_check !== 'ok')
      throw refusal(path, `is damaged: ${fault?.integrity_check ?? 'no answer'}`)
    const [orphan] = database.pragma('foreign_key_check') as { table: string }[]
    if (orphan !== undefined)
      throw refusal(path, `is damaged: a row of \`${orphan.table}\` has a dangling reference`)
    const tables = describeContent(database)
    const rows = tables.reduce((total, table) => total + table.rows, 0)
    return { schema: schemaOf(database), tables, rows }
  } catch (error) {
    throw error instanceof Sqlite.SqliteError ? unreadable(path, error) : error
  }
}

/** Throws CommandFailure unless both hold the same. */
export function requireSame(one: VerifiedDatabase, other: VerifiedDatabase, path: string): void {
  if (one.schema === other.schema && JSON.stringify(one.tables) === JSON.stringify(other.tables))
    return
  throw refusal(path, 'differs from the copied database; check the disk')
}

function requireOurs(
  database: Database,
  path: string,
  { length: known }: readonly Migration[],
): void {
  if (!hasOurTables(database)) throw refusal(path, 'is not a database of palisade-server')
  const schema = schemaOf(database)
  if (schema > known)
    throw refusal(
      path,
      `has schema ${schema} and this release knows ${known}; ` +
        'use the release that wrote it, or a newer one',
    )
}

/** Before anything of the file's own is computed, such as a CHECK constraint. */
function requireOurSchema(
  database: Database,
  path: string,
  migrations: readonly Migration[],
): void {
  const difference = findSchemaDifference(database, migrations.slice(0, schemaOf(database)))
  if (difference !== null) throw refusal(path, difference)
}

function schemaOf(database: Database): number {
  return Number(database.pragma('user_version', { simple: true }))
}

function unreadable(path: string, error: unknown): CommandFailure {
  const code = error instanceof Sqlite.SqliteError ? error.code : ''
  switch (code) {
    case 'SQLITE_NOTADB':
      return refusal(path, 'is not a database')
    case 'SQLITE_CORRUPT':
      return refusal(path, 'is damaged')
    case 'SQLITE_CANTOPEN':
      return refusal(
        path,
        existsSync(path)
          ? 'cannot be opened; it must be readable, and its directory writable for its log'
          : 'does not exist',
      )
    default:
      return refusal(path, `cannot be read${code === '' ? '' : ` (${code})`}`)
  }
}

function refusal(path: string, what: string): CommandFailure {
  return new CommandFailure('refused', `\`${path}\` ${what}`)
}
