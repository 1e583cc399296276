import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../platform/config-error.ts'
import { ensurePrivateDirectory } from '../../platform/private-directory.ts'
import { openSqliteStore } from '../../store/sqlite/open-sqlite-store.ts'
import type { OpenMode } from '../../store/open-mode.ts'
import type { Migration } from '../../store/sql/dialect.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Store } from '../../store/store.ts'

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
    throw refusalOf(describeRefusal(file, error), error)
  }
}

/**
 * Without a code the file itself is not one that SQLite can use. Any code that is not listed may go
 * away: a full disk, a lock, a lack of descriptors.
 */
const NEEDS_A_CHANGE =
  /^(SQLITE_(NOTADB|CORRUPT|READONLY|PERM)|E(ACCES|PERM|ROFS|NOTDIR|ISDIR|NOENT|EXIST|LOOP|NAMETOOLONG)$)/

function refusalOf(message: string, error: unknown): Error {
  const cause = error instanceof StoreError ? error.cause : error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : null
  return code === null || NEEDS_A_CHANGE.test(code)
    ? new ConfigError([message], { cause: error })
    : new StoreError('ERR_STORE_UNAVAILABLE', message, { cause: error })
}

function describeRefusal(file: string, { code, message, cause }: StoreError): string {
  switch (code) {
    case 'ERR_STORE_SCHEMA_TOO_NEW':
    case 'ERR_STORE_SCHEMA_TOO_OLD':
    case 'ERR_STORE_FOREIGN':
      return message
    case 'ERR_STORE_ABSENT':
      return (
        `${message}; set \`PALISADE_DATA_DIR\` to the data directory of the server, ` +
        'or run `palisade-server init`'
      )
    default:
      return `database \`${file}\` cannot be opened${reasonOf(cause)}${mendOf(cause)}`
  }
}

function mendOf(cause: unknown): string {
  switch (cause instanceof Error && 'code' in cause ? cause.code : null) {
    case 'SQLITE_NOTADB':
    case 'SQLITE_CORRUPT':
      return '; restore it from a backup'
    case 'SQLITE_FULL':
      return '; free space on its disk'
    case 'SQLITE_BUSY':
      return '; another process has locked it'
    default:
      return ''
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

/** ` (EACCES)`, or an empty text. The code is enough: a system message repeats the path. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
}
