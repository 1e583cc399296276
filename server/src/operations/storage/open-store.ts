import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DATABASE_FILE, openDataDirectory } from './data-directory.ts'
import { parseDatabaseUrl } from '../../store/postgres/database-url.ts'
import { StoreError } from '../../store/store-error.ts'
import type { OpenMode } from '../../store/open-mode.ts'
import type { Migration } from '../../store/sql/dialect.ts'
import { MIGRATIONS } from '../../store/sql/migrations/migrations.ts'
import type { Store } from '../../store/store.ts'
import { createBallast } from '../../store/sqlite/ballast.ts'
import { refuseDatabase } from './refused-store.ts'

/** Where the store is. */
export interface StoreSettings {
  /** Null for SQLite. */
  readonly databaseUrl: string | null
  /** The most connections to PostgreSQL. */
  readonly databaseConnections: number
  /** The folder of the SQLite database. */
  readonly dataDir: string
}

/**
 * Opens the store that the settings name: the database of `DATABASE_URL`, or SQLite in the data
 * directory. Throws ConfigError when it can never be opened as it is, and StoreError when it does
 * not answer at the moment.
 */
export async function openStore(
  settings: StoreSettings,
  opening: OpenMode,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Store> {
  if (settings.databaseUrl === null) return openDirectory(settings.dataDir, opening, migrations)
  // Loaded late: most servers have SQLite.
  const { openPostgresStore } = await import('../../store/postgres/open-postgres-store.ts')
  const { label } = parseDatabaseUrl(settings.databaseUrl)
  try {
    return await openPostgresStore(settings.databaseUrl, {
      connections: settings.databaseConnections,
      opening,
      migrations,
    })
  } catch (error) {
    throw error instanceof StoreError ? refuseDatabase(label, error) : error
  }
}

/** A database that is going to be migrated is backed up first. */
async function openDirectory(
  dataDir: string,
  opening: OpenMode,
  migrations: readonly Migration[],
): Promise<Store> {
  if (opening === 'create') {
    // Loaded on demand: most starts need no migration.
    const { backUpBeforeMigration } = await import('../backup/back-up-before-migration.ts')
    const file = join(dataDir, DATABASE_FILE)
    createBallast(file).giveRoom()
    const backup = await backUpBeforeMigration(file, randomUUID(), migrations)
    if (backup !== null)
      process.stderr.write(
        `palisade-server: the database of schema ${backup.schema} is kept as ${backup.file}\n`,
      )
  }
  return openDataDirectory(dataDir, opening, migrations)
}
