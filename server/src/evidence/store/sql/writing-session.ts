import type { Connection } from '../../../store/sql/connection.ts'
import type { InsertedColumn, InsertedTable, InsertRows } from '../../../store/sql/insert-rows.ts'
import type { DaySpan } from './widen-days.ts'

/** A connection that writes, and the choices of its driver. */
export interface WritingSession {
  readonly connection: Connection
  /** Inserts many rows in the way that is fastest. */
  insertInto(table: InsertedTable, columns: readonly InsertedColumn[]): InsertRows
  /** Awaited between the parts of long work, so that other work of the process comes between. */
  pause(): Promise<void>
  /** Throws `ERR_STORE_FULL` where the disk has no room for these bytes beside its reserve. */
  requireRoom(bytes: number): void
  /** Where no other process writes; null elsewhere. */
  readonly memory: TupleMemory | null
}

export interface StoredTuple extends DaySpan {
  readonly id: number
}

/** The tuples that the newest batches had, by organization and hash. */
export interface TupleMemory {
  get(org: number, hash: string): StoredTuple | undefined
  set(org: number, hash: string, tuple: StoredTuple): void
  /** To be called when rows were removed, or writes may have been undone. */
  forget(): void
}

/** At most `most` tuples, of about 200 bytes. */
export function createTupleMemory(most: number): TupleMemory {
  const tuples = new Map<string, StoredTuple>()
  const keyOf = (org: number, hash: string): string => `${org} ${hash}`
  return {
    get: (org, hash) => tuples.get(keyOf(org, hash)),
    set(org, hash, tuple) {
      if (tuples.size >= most) tuples.clear()
      tuples.set(keyOf(org, hash), tuple)
    },
    forget: () => tuples.clear(),
  }
}
