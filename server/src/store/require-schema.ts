import { StoreError } from './store-error.ts'

/**
 * Throws `ERR_STORE_SCHEMA_CHANGED` unless the database still has the schema with which this
 * process opened it. To be asked in every transaction and snapshot: a newer release, or a mere
 * command of it, migrates the database under processes that run. Reads are refused as well,
 * because what the newer release stores may say in a new place that a token was revoked.
 */
export function requireSchema(found: number, opened: number): void {
  if (found === opened) return
  const mend =
    found > opened
      ? 'a newer release has taken it over; stop this process and start the release that did'
      : 'an older database was put in its place; stop this process and start it again'
  throw new StoreError(
    'ERR_STORE_SCHEMA_CHANGED',
    `the database has schema ${found} and this process knows ${opened}: ${mend}`,
  )
}
