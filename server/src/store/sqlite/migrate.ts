import type { Database } from 'better-sqlite3'
import type { Migration } from '../sql/dialect.ts'
import { StoreError } from '../store-error.ts'
import { SQLITE } from './dialect.ts'

/**
 * Brings the database to the newest of `migrations` in one transaction, or leaves it as it was.
 * Throws `ERR_STORE_SCHEMA_TOO_NEW` for a database that a newer release has written.
 */
export function migrate(database: Database, migrations: readonly Migration[]): void {
  // IMMEDIATE: two processes that start together on an empty file take turns.
  database
    .transaction(() => {
      const version = Number(database.pragma('user_version', { simple: true }))
      if (version > migrations.length)
        throw new StoreError(
          'ERR_STORE_SCHEMA_TOO_NEW',
          `database \`${database.name}\` has schema ${version} and this release knows ${migrations.length}; start the release that wrote it, or a newer one`,
        )
      for (const step of migrations.slice(version)) database.exec(step(SQLITE))
      database.pragma(`user_version = ${migrations.length}`)
    })
    .immediate()
}
