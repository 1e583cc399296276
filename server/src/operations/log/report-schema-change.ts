import { StoreError, type StoreErrorCode } from '../../store/store-error.ts'
import type { Store } from '../../store/store.ts'
import type { Log } from './create-log.ts'

const CODES: ReadonlySet<StoreErrorCode> = new Set([
  'ERR_STORE_SCHEMA_CHANGED',
  'ERR_STORE_SCHEMA_DAMAGED',
])

/**
 * The same store, which says once in the log when another release has changed the database's
 * schema, or a part of it is missing: every request is refused from then on, and only an operator
 * can do something about it.
 */
export function reportSchemaChange(store: Store, log: Log): Store {
  let isReported = false

  async function report<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      if (isChange(error) && !isReported) {
        isReported = true
        log.fatal(error.message)
      }
      throw error
    }
  }

  return {
    ...store,
    read: (work) => report(store.read(work)),
    transaction: (work, lane) => report(store.transaction(work, lane)),
    ping: () => report(store.ping()),
  }
}

function isChange(error: unknown): error is StoreError {
  return error instanceof StoreError && CODES.has(error.code)
}
