import type { Database } from 'better-sqlite3'
import { StoreError } from '../store-error.ts'

/** Tables of every version of the store of policies. */
const OURS = ['organizations', 'policies', 'rules', 'signing_keys']

/**
 * Throws `ERR_STORE_FOREIGN` for a database with content that no release of this server has
 * written; `tables` are those of every version. To be asked before anything is changed: the journal
 * mode stays in the file, and a migration would put our tables among somebody else's.
 */
export function requireOwn(database: Database, tables: readonly string[] = OURS): void {
  // One snapshot: another process may be making the schema at this moment.
  const isOwn = database.transaction(() => {
    const version = database.pragma('user_version', { simple: true })
    return version === 0 ? isEmpty(database) : hasOurTables(database, tables) || isEmpty(database)
  })
  if (isOwn()) return
  throw new StoreError(
    'ERR_STORE_FOREIGN',
    `\`${database.name}\` is a database of another application; choose another path for Palisade`,
  )
}

/** Tells whether a database of any version has made the tables that there have always been. */
export function hasOurTables(database: Database, tables: readonly string[] = OURS): boolean {
  const names = new Set(
    database
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .pluck()
      .all(),
  )
  return tables.every((name) => names.has(name))
}

function isEmpty(database: Database): boolean {
  return (
    database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined &&
    database.pragma('application_id', { simple: true }) === 0
  )
}
