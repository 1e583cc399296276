import pg from 'pg'
import { damagedSchema, StoreError, type ConflictSubject } from '../store-error.ts'

/** The subject of each unique constraint, by the name that PostgreSQL gives it. */
const SUBJECTS: Readonly<Record<string, ConflictSubject>> = {
  organizations_pkey: 'organization',
  users_pkey: 'username',
  memberships_pkey: 'member',
  teams_org_name_key: 'team_name',
  policies_org_name_key: 'policy_name',
  rules_policy_id_name_key: 'rule_name',
}

/** Shut down by the administrator, or after a crash. */
const ENDED_BY_DATABASE = /^57P0[123]$/

/** Undefined table, undefined column. */
const MISSING = /^42(P01|703)$/

/** SQLSTATE class 23. */
const INTEGRITY_VIOLATION = /^23/

/**
 * An error of the driver or the database as a StoreError; every other error unchanged. The messages
 * name no connection string: it may hold a password.
 */
export function translate(error: unknown): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error
  const code = codeOf(error)
  if (error instanceof pg.DatabaseError && INTEGRITY_VIOLATION.test(code ?? '')) {
    const subject = SUBJECTS[error.constraint ?? ''] ?? 'other'
    const message = `the write conflicts with stored data: ${subject}`
    return new StoreError('ERR_STORE_CONFLICT', message, { cause: error, subject })
  }
  if (error instanceof pg.DatabaseError && MISSING.test(code ?? '')) return damagedSchema(error)
  return unavailable(code ?? error.message, error)
}

/** `reason` is a code, or a message of the driver, which has no code for a lost connection. */
function unavailable(reason: string, cause: unknown): StoreError {
  return new StoreError('ERR_STORE_UNAVAILABLE', `the database does not answer: ${reason}`, {
    cause,
  })
}

/** The SQLSTATE, or the system's code of a failed connection. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : null
}

/** The database ended the connection, or the network did. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof StoreError) || error.code !== 'ERR_STORE_UNAVAILABLE') return false
  const { cause } = error
  return !(cause instanceof pg.DatabaseError) || ENDED_BY_DATABASE.test(cause.code ?? '')
}
