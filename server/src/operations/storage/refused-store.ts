import { ConfigError } from '../../platform/config-error.ts'
import { StoreError } from '../../store/store-error.ts'

/** ConfigError when a SQLite database can never be opened as it is, and StoreError otherwise. */
export function refuseFile(file: string, error: StoreError): Error {
  return refusalOf(describeRefusal(file, error), error)
}

/**
 * ConfigError when a PostgreSQL database can never be opened as it is, and StoreError otherwise.
 */
export function refuseDatabase(label: string, error: StoreError): Error {
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

/**
 * Without a code the file itself is not one that SQLite can use. Any code that is not listed may go
 * away: a full disk, a lock, a lack of descriptors.
 */
const NEEDS_A_CHANGE =
  /^(SQLITE_(NOTADB|CORRUPT|READONLY|PERM)|E(ACCES|PERM|ROFS|NOTDIR|ISDIR|NOENT|EXIST|LOOP|NAMETOOLONG)$)/

export function refusalOf(message: string, error: unknown): Error {
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

/** ` (EACCES)`, or an empty text. The code is enough: a system message repeats the path. */
export function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
}
