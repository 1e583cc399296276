import type { Store, StoreWriter } from '../../store/store.ts'
import { createAuditedWriter } from './audited-writer.ts'
import type { Author } from '../author.ts'
import { createChangeLog, type ChangeLog, type RequireHistoryRoom } from '../change-log.ts'
import type { Change } from '../../store/change.ts'

/**
 * The store as services have it. Every write needs an author, and every change through `write`
 * leaves its event in the same transaction.
 */
export interface AuditedStore extends Pick<Store, 'read' | 'generation'> {
  /** Runs `work` in a transaction, as `Store.transaction` does. */
  write<T>(author: Author, work: (writer: StoreWriter) => Promise<T>): Promise<T>
  /** Leaves an event that changes no row of this store. */
  note(author: Author, change: Change): Promise<void>
}

export interface AuditedStoreDeps {
  readonly store: Store
  readonly now: () => Date
  /** No bound without it, as for commands of the operator. */
  readonly requireRoom?: RequireHistoryRoom
  /** Told after the commit whose history has grown. */
  readonly onEvents?: (orgs: readonly string[]) => void
}

export function createAuditedStore({
  store,
  now,
  requireRoom,
  onEvents,
}: AuditedStoreDeps): AuditedStore {
  const commit = async <T>(
    author: Author,
    work: (writer: StoreWriter, log: ChangeLog) => Promise<T>,
  ): Promise<T> => {
    const { result, orgs } = await store.transaction(async (writer) => {
      const log = createChangeLog(writer, requireRoom)
      const done = await work(writer, log)
      return { result: done, orgs: await log.append(author, now()) }
    })
    if (orgs.length > 0) onEvents?.(orgs)
    return result
  }

  return {
    read: (work) => store.read(work),
    generation: (of) => store.generation(of),
    write: (author, work) =>
      commit(author, (writer, log) => work(createAuditedWriter(writer, log))),
    note: (author, change) => commit(author, (_writer, log) => log.record(change)),
  }
}
