/**
 * The rows that a statement changes, for code that caches reads. `governance`: rows on which users
 * and their teams, access tokens, devices and keys do not depend. `progress`: rows that
 * `Store.generation` leaves out.
 */
export type Effect = 'everything' | 'governance' | 'progress'

export type Value = string | number | null | Uint8Array

/**
 * One open connection of a driver. SQL is of the kind that SQLite and PostgreSQL share, with `?`
 * for parameters; where they differ, the driver's dialect has the words. `INDEXED BY`, which only
 * SQLite has, is left out for PostgreSQL.
 */
export interface Connection {
  /**
   * May be called once for a text and used often. Throws StoreError, as do its statements. One that
   * writes has its `effect`.
   */
  prepare<Row>(sql: string, effect?: Effect): Statement<Row>
}

export interface Statement<Row> {
  /** The first row. */
  get(...values: Value[]): Promise<Row | undefined>
  all(...values: Value[]): Promise<Row[]>
  /** Answers the number of rows changed. */
  run(...values: Value[]): Promise<number>
}
