import Sqlite from 'better-sqlite3'
import { damagedSchema, StoreError, type ConflictSubject } from '../store-error.ts'

/** SQLite has no code of its own for these. */
const MISSING = /^no such (table|column): |^table \S+ has no column named /

/** Runs `work`. Turns errors of SQLite into StoreErrors; every other error passes unchanged. */
export function guard<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw translate(error)
  }
}

function translate(error: unknown): unknown {
  if (error instanceof TypeError && error.message.includes('database connection is not open'))
    return new StoreError('ERR_STORE_UNAVAILABLE', 'the store is closed', { cause: error })
  if (!(error instanceof Sqlite.SqliteError)) return error
  if (error.code === 'SQLITE_ERROR' && MISSING.test(error.message)) return damagedSchema(error)
  if (!error.code.startsWith('SQLITE_CONSTRAINT'))
    return new StoreError('ERR_STORE_UNAVAILABLE', `the database does not answer: ${error.code}`, {
      cause: error,
    })
  const subject = subjectOf(error.message)
  const message = `the write conflicts with stored data: ${subject}`
  return new StoreError('ERR_STORE_CONFLICT', message, { cause: error, subject })
}

/** SQLite names the columns of a failed unique constraint, and no columns for a foreign key. */
function subjectOf(message: string): ConflictSubject {
  if (message.includes('policies.name')) return 'policy_name'
  if (message.includes('rules.name')) return 'rule_name'
  if (message.includes('teams.name')) return 'team_name'
  if (message.includes('organizations.name')) return 'organization'
  if (message.includes('users.username')) return 'username'
  if (message.includes('memberships.username')) return 'member'
  return 'other'
}
