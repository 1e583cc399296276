import { StoreError } from '../store-error.ts'

/** The refusal of a change to a missing row. */
export function rowNotFound(what: string, id: string): StoreError {
  return new StoreError('ERR_STORE_NOT_FOUND', `${what} \`${id}\` does not exist`)
}
