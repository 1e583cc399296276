import { StoreError, type StoreErrorCode } from '../../store/store-error.ts'
import type { StoreHook } from '../../store/store-hooks.ts'
import type { Log } from './create-log.ts'

const CODES: ReadonlySet<StoreErrorCode> = new Set([
  'ERR_STORE_SCHEMA_CHANGED',
  'ERR_STORE_SCHEMA_DAMAGED',
])

/**
 * Says once in the log when another release has changed the database's schema, or a part of it is
 * missing: every request is refused from then on, and only an operator can do something about it.
 */
export function reportSchemaChange(log: Pick<Log, 'fatal'>): StoreHook {
  let isReported = false
  return () => ({
    onEnd(error) {
      if (isReported || !isChange(error)) return
      isReported = true
      log.fatal(error.message)
    },
  })
}

function isChange(error: unknown): error is StoreError {
  return error instanceof StoreError && CODES.has(error.code)
}
