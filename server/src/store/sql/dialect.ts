/** What databases differ in where the schema is made. */
export interface Dialect {
  /** Text that compares by code points, in every database alike. */
  readonly text: string
  /** 53 bits at least. */
  readonly integer: string
  readonly bytes: string
  /** A primary key that counts insertions upwards. */
  readonly place: string
  /** What follows the columns of a table with a primary key of its own. */
  readonly keyed: string
  /** What follows the columns of a table with a `place`. */
  readonly placed: string
  /** What follows FROM for the texts of a JSON array, one row each with a `value`. */
  readonly elementsOf: (json: string) => string
  /**
   * Whether a step can drop a constraint. Where not, it makes the table anew, and whoever reads keeps the
   * former one. Where it can, it must: there a table made anew is empty to whoever began to read before.
   */
  readonly canDropConstraints: boolean
}

/** One step of the schema, as SQL. */
export type Migration = (dialect: Dialect) => string
