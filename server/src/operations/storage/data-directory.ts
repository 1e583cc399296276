import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../platform/config-error.ts'
import { ensurePrivateDirectory } from '../../platform/private-directory.ts'
import { openSqliteStore } from '../../store/sqlite/open-sqlite-store.ts'
import type { OpenMode } from '../../store/open-mode.ts'
import type { Migration } from '../../store/sql/dialect.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Store } from '../../store/store.ts'
import { reasonOf, refusalOf, refuseFile } from './refused-store.ts'

/** Name of the database in the data directory. */
export const DATABASE_FILE = 'server.db'

/**
 * Opens the store in the data directory; with `create`, directory (mode 0700) and database (mode
 * 0600) are made when they are not there. Throws ConfigError when the operator has to change
 * something, and StoreError when another start may succeed.
 */
export function openDataDirectory(
  path: string,
  opening: OpenMode = 'create',
  migrations?: readonly Migration[],
): Store {
  if (opening === 'create') ensureDirectory(path)
  const file = join(path, DATABASE_FILE)
  try {
    return openSqliteStore(file, opening, migrations)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw refuseFile(file, error)
  }
}

function ensureDirectory(path: string): void {
  try {
    ensurePrivateDirectory(path)
    if (!statSync(path).isDirectory())
      throw new ConfigError([
        `data directory \`${path}\` is a file; set \`PALISADE_DATA_DIR\` to a directory`,
      ])
    accessSync(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw refusalOf(
      `data directory \`${path}\` cannot be created or written${reasonOf(error)}; ` +
        'set `PALISADE_DATA_DIR` to one that can',
      error,
    )
  }
}
