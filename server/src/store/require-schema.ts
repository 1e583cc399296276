import { StoreError } from './store-error.ts'

/**
 * Throws `ERR_STORE_SCHEMA_CHANGED` unless the database still has the schema with which this
 * process opened it. Every transaction and snapshot must call it: a newer release, or one of its
 * commands, migrates the database under running processes. Reads are refused as well, because a
 * newer release may store a revocation in a place that this one does not read.
 */
export function requireSchema(found: number, opened: number): void {
  if (found === opened) return
  const mend =
    found > opened
      ? 'a newer release has migrated it; stop this process and start that release'
      : 'it was replaced by an older database; restart this process'
  throw new StoreError(
    'ERR_STORE_SCHEMA_CHANGED',
    `the database has schema ${found} and this process knows ${opened}: ${mend}`,
  )
}
