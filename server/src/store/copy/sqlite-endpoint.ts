import Sqlite, { type Database } from 'better-sqlite3'
import { statSync } from 'node:fs'
import { MIGRATIONS } from '../sql/migrations/migrations.ts'
import { openSqliteStore } from '../sqlite/open-sqlite-store.ts'
import { createSqliteConnection } from '../sqlite/sqlite-connection.ts'
import { guard } from '../sqlite/sqlite-error.ts'
import { CopyError } from './copy-error.ts'
import type { CopyEndpoint } from './copy-store.ts'

/** The SQLite database at `path`, whose directory is there. A source is only read. */
export function createSqliteEndpoint(path: string): CopyEndpoint {
  return {
    label: path,

    async snapshot(work) {
      const file = statSync(path, { throwIfNoEntry: false })
      if (file === undefined)
        throw new CopyError('ERR_COPY_SCHEMA', `there is no database \`${path}\``)
      // SQLite would wait at a named pipe for somebody to write, deaf to signals.
      if (!file.isFile())
        throw new CopyError('ERR_COPY_SCHEMA', `\`${path}\` is not an ordinary file`)
      return withDatabase(path, { readonly: true }, async (database) => {
        guard(() => database.exec('BEGIN'))
        const version = guard(() => database.pragma('user_version', { simple: true }))
        if (version !== MIGRATIONS.length)
          throw new CopyError(
            'ERR_COPY_SCHEMA',
            `\`${path}\` has schema ${String(version)} and this release needs ` +
              `${MIGRATIONS.length}; start this release on it once`,
          )
        return work(createSqliteConnection(database))
      })
    },

    async fill(work) {
      await openSqliteStore(path).close()
      return withDatabase(path, { readonly: false }, async (database) => {
        guard(() => {
          database.pragma('synchronous = FULL')
          database.pragma('foreign_keys = ON')
          database.exec('BEGIN IMMEDIATE')
        })
        const result = await work(createSqliteConnection(database))
        guard(() => database.exec('COMMIT'))
        return result
      })
    },
  }
}

/** Uncommitted changes are undone when the database is closed. */
async function withDatabase<T>(
  path: string,
  options: { readonly readonly: boolean },
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = guard(() => new Sqlite(path, { ...options, fileMustExist: true }))
  try {
    return await work(database)
  } finally {
    database.close()
  }
}
