import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

/** The database of a server that is not running. */
export interface DatabaseFile {
  readonly dataDir: string
  withStore<T>(work: (store: Store) => Promise<T>): Promise<T>
  /** Changes made by an attacker who can write to the file. */
  tamper(...statements: string[]): void
}

export function createDatabaseFile(): DatabaseFile {
  const dataDir = temporaryDirectory()
  const path = join(dataDir, 'server.db')
  return {
    dataDir,
    async withStore(work) {
      const store = openSqliteStore(path)
      try {
        return await work(store)
      } finally {
        await store.close()
      }
    },
    tamper(...statements) {
      const database = new Sqlite(path)
      database.pragma('foreign_keys = OFF')
      for (const statement of statements) database.exec(statement)
      database.close()
    },
  }
}
