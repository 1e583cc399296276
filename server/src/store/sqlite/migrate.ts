import type { Database } from 'better-sqlite3'
import type { Dialect, Migration } from '../sql/dialect.ts'
import { requireExisting } from '../open-mode.ts'
import { StoreError } from '../store-error.ts'

/** Throws unless the database has the newest schema. */
export function requireNewest(database: Database, migrations: readonly Migration[]): void {
  const version = versionOf(database)
  requireKnown(database, version, migrations)
  requireExisting(version, migrations.length, database.name)
}

/**
 * Brings the database to the newest of `migrations` in one transaction, or leaves it as it was.
 * Throws `ERR_STORE_SCHEMA_TOO_NEW` for a database that a newer release has written.
 */
export function migrate(database: Database, migrations: readonly Migration[]): void {
  // IMMEDIATE: two processes that start together on an empty file take turns.
  database
    .transaction(() => {
      const version = versionOf(database)
      requireKnown(database, version, migrations)
      for (const step of migrations.slice(version)) database.exec(step(SQLITE))
      database.pragma(`user_version = ${migrations.length}`)
    })
    .immediate()
}

function versionOf(database: Database): number {
  return Number(database.pragma('user_version', { simple: true }))
}

function requireKnown(
  { name }: Database,
  version: number,
  { length: known }: readonly Migration[],
): void {
  if (version <= known) return
  throw new StoreError(
    'ERR_STORE_SCHEMA_TOO_NEW',
    `database \`${name}\` has schema ${version} and this release knows ${known}; ` +
      'start the release that wrote it, or export its policies there and apply them here',
  )
}

const SQLITE: Dialect = {
  text: 'TEXT',
  integer: 'INTEGER',
  bytes: 'BLOB',
  serial: 'INTEGER PRIMARY KEY',
  keyed: 'STRICT, WITHOUT ROWID',
  numbered: 'STRICT',
  byDay: () => 'STRICT, WITHOUT ROWID',
}
