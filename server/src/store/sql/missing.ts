import { StoreError } from '../store-error.ts'

/** What is refused because there is no such row. */
export function missing(what: string, id: string): StoreError {
  return new StoreError('ERR_STORE_NOT_FOUND', `${what} \`${id}\` is not there`)
}
