/** Differences between the databases in the schema. */
export interface Dialect {
  /** Text that compares by code points, in every database alike. */
  readonly text: string
  /** 53 bits at least. */
  readonly integer: string
  readonly bytes: string
  /** A primary key that counts insertions upwards. */
  readonly serial: string
  /** The text after the columns of a table with a primary key of its own. */
  readonly keyed: string
  /** The text after the columns of a table with a `serial`. */
  readonly numbered: string
  /** The text after the columns of a table whose primary key begins with a `day`, to drop days. */
  readonly byDay: (table: string) => string
}

/** One step of the schema, as SQL. */
export type Migration = (dialect: Dialect) => string
