import { join } from 'node:path'
import { inject } from 'vitest'
import { openPostgresStore } from '../../../server/src/store/postgres/open-postgres-store.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { openDatabase } from '../postgres/test-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The store of the servers of this run. */
    readonly driver: 'sqlite' | 'postgres'
  }
}

export interface TestStore {
  readonly store: Store
  /** Closes the store and deletes its data. */
  discard(): Promise<void>
}

/** An empty store of the driver under test; SQLite in `directory`. */
export async function openTestStore(directory: string): Promise<TestStore> {
  if (inject('driver') === 'sqlite') {
    const store = openSqliteStore(join(directory, 'server.db'))
    return { store, discard: () => store.close() }
  }
  const database = await openDatabase()
  const store = await openPostgresStore(database.url)
  return {
    store,
    async discard() {
      await store.close()
      await database.giveBack()
    },
  }
}
