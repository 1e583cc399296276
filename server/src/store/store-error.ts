/** The name that is taken, or the row in use, when a write is refused with `conflict`. */
export type ConflictSubject =
  | 'organization'
  | 'username'
  | 'member'
  | 'team_name'
  | 'team_in_use'
  | 'policy_name'
  | 'rule_name'
  | 'other'

export type StoreErrorCode =
  | 'ERR_STORE_CONFLICT'
  | 'ERR_STORE_NOT_FOUND'
  | 'ERR_STORE_UNAVAILABLE'
  | 'ERR_STORE_FULL'
  | 'ERR_STORE_SCHEMA_TOO_NEW'
  | 'ERR_STORE_SCHEMA_TOO_OLD'
  | 'ERR_STORE_SCHEMA_CHANGED'
  | 'ERR_STORE_SCHEMA_DAMAGED'
  | 'ERR_STORE_ABSENT'
  | 'ERR_STORE_FOREIGN'

const DOWN: ReadonlySet<StoreErrorCode> = new Set([
  'ERR_STORE_UNAVAILABLE',
  'ERR_STORE_SCHEMA_CHANGED',
  'ERR_STORE_SCHEMA_DAMAGED',
])

/**
 * Every error that a store throws by itself; errors of `work` pass through unchanged.
 *
 * - `ERR_STORE_CONFLICT`: a unique name is taken or a row is referred to; `subject` says which. Let
 *   it escape `work`: other drivers cannot go on in the same transaction.
 * - `ERR_STORE_NOT_FOUND`: the row to change is not there; look it up in the same transaction.
 * - `ERR_STORE_UNAVAILABLE`: the disk or the database does not answer, or the store is closed.
 * - `ERR_STORE_FULL`: the disk has little room, which is kept for other writes.
 * - `ERR_STORE_SCHEMA_TOO_NEW`: the database was written by a newer release.
 * - `ERR_STORE_SCHEMA_TOO_OLD`, `ERR_STORE_ABSENT`: the database is to be taken as it is, and is of
 *   an older release, or not there.
 * - `ERR_STORE_SCHEMA_CHANGED`: another release has changed the schema since the store was opened;
 *   all reads and writes are refused.
 * - `ERR_STORE_SCHEMA_DAMAGED`: a table or column of the schema is missing; only a backup brings it
 *   back.
 * - `ERR_STORE_FOREIGN`: the database is another application's; it was left as it is.
 */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode
  readonly subject: ConflictSubject | null

  constructor(
    code: StoreErrorCode,
    message: string,
    options: { cause?: unknown; subject?: ConflictSubject } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.subject = options.subject ?? null
  }
}

/** `cause` is the error of a driver that names the missing table or column. */
export function damagedSchema(cause: Error): StoreError {
  return new StoreError(
    'ERR_STORE_SCHEMA_DAMAGED',
    `the database's schema is damaged (${cause.message}): stop the server and restore a backup`,
    { cause },
  )
}

/** Whether the store refuses all work, as opposed to one piece of work. */
export function isStoreDown(error: unknown): error is StoreError {
  return error instanceof StoreError && DOWN.has(error.code)
}
