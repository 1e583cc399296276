import { join } from 'node:path'
import { inject } from 'vitest'
import type { EvidenceStore } from '../../../server/src/evidence/store/evidence-store.ts'
import { openEvidenceStore } from '../../../server/src/evidence/store/open-evidence-store.ts'
import { openPostgresStore } from '../../../server/src/store/postgres/open-postgres-store.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { startInProcess } from '../in-process-worker.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The store of the servers of this run. */
    readonly driver: 'sqlite' | 'postgres'
  }
}

export interface TestStore {
  readonly store: Store
  /** Null for SQLite. */
  readonly databaseUrl: string | null
  /** Closes the store and deletes its data. */
  discard(): Promise<void>
}

/** An empty store of the driver under test; SQLite in `directory`. */
export async function openTestStore(directory: string): Promise<TestStore> {
  if (inject('driver') === 'sqlite') {
    const store = openSqliteStore(
      join(directory, 'server.db'),
      'create',
      MIGRATIONS,
      startInProcess,
    )
    return { store, databaseUrl: null, discard: () => store.close() }
  }
  // Loaded here alone, because it starts PostgreSQL.
  const { openDatabase } = await import('../postgres/test-postgres.ts')
  const database = await openDatabase()
  const store = await openPostgresStore(database.url)
  return {
    store,
    databaseUrl: database.url,
    async discard() {
      await store.close()
      await database.giveBack()
    },
  }
}

/** The evidence beside a test store. */
export function openTestEvidence(
  dataDir: string,
  databaseUrl: string | null = null,
): Promise<EvidenceStore> {
  return openEvidenceStore({ dataDir, databaseUrl, databaseConnections: 1 }, startInProcess)
}
