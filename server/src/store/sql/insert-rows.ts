import type { Connection, Effect, Statement, Value } from './connection.ts'

/**
 * Statements are kept for these numbers of rows. Smaller groups are filled up with rows of nulls,
 * which the statement leaves out again.
 */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 250]
const LARGEST = 250

/** A column, and the type by which PostgreSQL takes its parameters. */
export interface InsertedColumn {
  readonly name: string
  readonly type: 'TEXT' | 'BIGINT'
}

/** Where rows go, and which of them. */
export interface InsertedTable {
  readonly name: string
  readonly effect: Effect
  /** The condition on a row, called `given.column1` and so on; other rows are left out. */
  readonly condition?: string
  /** An `ON CONFLICT` clause. */
  readonly conflict?: string
}

/**
 * Inserts rows into a table, 250 at a time: a statement for each takes one journey to the database
 * each.
 */
export interface InsertRows {
  run(rows: readonly (readonly Value[])[]): Promise<void>
}

/** The first of `columns` is never null. */
export function createInsertRows(
  connection: Connection,
  table: InsertedTable,
  columns: readonly InsertedColumn[],
): InsertRows {
  const statements = new Map<number, Statement<unknown>>()

  function statementFor(size: number): Statement<unknown> {
    const known = statements.get(size)
    if (known !== undefined) return known
    const made = connection.prepare(formatInsert(table, columns, size), table.effect)
    statements.set(size, made)
    return made
  }

  return {
    async run(rows) {
      const [row] = rows
      // Most transactions have one.
      if (rows.length === 1 && row !== undefined) {
        await statementFor(1).run(...row)
        return
      }
      for (let first = 0; first < rows.length; first += LARGEST) {
        const some = rows.slice(first, first + LARGEST)
        const size = SIZES.find((each) => each >= some.length) ?? LARGEST
        const missing = (size - some.length) * columns.length
        await statementFor(size).run(...some.flat(), ...Array.from({ length: missing }, () => null))
      }
    },
  }
}

/** The types of the first row are those of all others. */
function formatInsert(
  { name, condition, conflict = '' }: InsertedTable,
  columns: readonly InsertedColumn[],
  size: number,
): string {
  const names = columns.map((column) => column.name).join()
  const typed = `(${columns.map(({ type }) => `CAST(? AS ${type})`).join()})`
  const untyped = `(${columns.map(() => '?').join()})`
  const values = [typed, ...Array.from({ length: size - 1 }, () => untyped)].join()
  // Most transactions: a third faster on SQLite than the general form.
  if (size === 1 && condition === undefined)
    return `INSERT INTO ${name} (${names}) VALUES ${untyped} ${conflict}`
  const which = condition === undefined ? '' : `AND ${condition}`
  return `INSERT INTO ${name} (${names})
    SELECT * FROM (VALUES ${values}) AS given WHERE column1 IS NOT NULL ${which} ${conflict}`
}
