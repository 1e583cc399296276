import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { ConfigError } from '../../platform/config-error.ts'
import { DATABASE_FILE, openDataDirectory } from './data-directory.ts'
import { parseDatabaseUrl } from '../../store/postgres/database-url.ts'
import { StoreError } from '../../store/store-error.ts'
import type { OpenMode } from '../../store/open-mode.ts'
import type { Migration } from '../../store/sql/dialect.ts'
import { MIGRATIONS } from '../../store/sql/migrations/migrations.ts'
import type { Store } from '../../store/store.ts'

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
    throw error instanceof StoreError ? refusalOf(label, error) : error
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
    const backup = await backUpBeforeMigration(file, randomUUID(), migrations)
    if (backup !== null)
      process.stderr.write(
        `palisade-server: the database of schema ${backup.schema} is kept as ${backup.file}\n`,
      )
  }
  return openDataDirectory(dataDir, opening, migrations)
}

function refusalOf(label: string, error: StoreError): Error {
  if (error.code === 'ERR_STORE_ABSENT')
    return new ConfigError(
      [
        `database \`${label}\` has no tables of Palisade; set \`DATABASE_URL\` to that of ` +
          'the server, or run `palisade-server init`',
      ],
      { cause: error },
    )
  if (error.code === 'ERR_STORE_SCHEMA_TOO_OLD')
    return new ConfigError([error.message], { cause: error })
  if (error.code === 'ERR_STORE_SCHEMA_TOO_NEW')
    return new ConfigError([`${error.message} (\`${label}\`)`], { cause: error })
  const problem = describeAnswer(label, error.cause)
  const message = `database \`${label}\` cannot be opened: ${error.message}`
  return problem === null
    ? new StoreError(error.code, message, { cause: error })
    : new ConfigError([problem], { cause: error })
}

/** The problem and its correction, by SQLSTATE; null when waiting may help. */
function describeAnswer(label: string, cause: unknown): string | null {
  const database = `database \`${label}\``
  const code = cause instanceof Error && 'code' in cause ? cause.code : null
  switch (code) {
    case '28P01':
    case '28000':
      return (
        `${database} refuses the role or its password (${code}); ` +
        'check both in `DATABASE_URL`, and `pg_hba.conf`'
      )
    case '3D000':
      return `PostgreSQL has no ${database}; create it, or correct its name in \`DATABASE_URL\``
    case '42501':
      return `${database} does not let the role create tables; make the role its owner`
    case '42P07':
      return `${database} has tables of another application; create a database for Palisade alone`
    default:
      return null
  }
}
