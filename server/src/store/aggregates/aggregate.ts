import type { ChangeRecorder, Writes } from '../change.ts'
import type { Connection } from '../sql/connection.ts'
import type { WriteCache } from '../sql/write-cache.ts'

/** A table of the schema, and the columns of its primary key. */
export interface Table {
  readonly name: string
  readonly key: readonly string[]
}

/** Raises the organization's revision and answers the new one. */
export type BumpRevision = (org: string) => Promise<number>

/** Shared by all writers of one connection. */
export interface WriterContext {
  /** Rows that writers read without a query. */
  readonly cache: WriteCache
  readonly bumpRevision: BumpRevision
}

/** Tables that are read and written as one, and the events of their writes. */
export interface Aggregate<Reader, Writer extends Reader, Others> {
  /**
   * Each after those that it refers to. Rows that refer to others of their own table come after
   * them in the order of the key. `copy` reads tables and rows in this order.
   */
  readonly tables: readonly Table[]
  readonly reader: (connection: Connection) => Reader
  readonly writer: (connection: Connection, context: WriterContext) => Writer
  /**
   * Every write of `writer`, with its event; null where no write needs one. `others` has the
   * writers of other aggregates that an event shows.
   */
  readonly events:
    ((writer: Writer, recorder: ChangeRecorder, others: Others) => Writes<Writer, Reader>) | null
}

/** An entry of `AGGREGATES`; the types follow from its functions. */
export function defineAggregate<Reader, Writer extends Reader, Others>(
  aggregate: Aggregate<Reader, Writer, Others>,
): Aggregate<Reader, Writer, Others> {
  return aggregate
}
