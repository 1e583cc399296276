import type { Connection, Effect, Statement, Value } from './connection.ts'

/**
 * Statements are kept for so many rows; fewer are filled up with rows of nulls, left out again.
 * Measured, SQLite takes as long for a row of nulls as for another.
 */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 250]
const LARGEST = 250

/** A column, and the type by which PostgreSQL takes its parameters. */
export interface InsertedColumn {
  readonly name: string
  readonly type: 'TEXT' | 'BIGINT'
}

/**
 * A function that inserts rows into a table, 250 at a time: a statement for each takes one journey
 * to the database each. The first of `columns` is never null.
 */
export function createInsertRows(
  connection: Connection,
  { name, effect }: { readonly name: string; readonly effect: Effect },
  columns: readonly InsertedColumn[],
): (rows: readonly (readonly Value[])[]) => Promise<void> {
  const statements = new Map<number, Statement<unknown>>()

  function statementFor(size: number): Statement<unknown> {
    const known = statements.get(size)
    if (known !== undefined) return known
    const made = connection.prepare(formatInsert(name, columns, size), effect)
    statements.set(size, made)
    return made
  }

  return async (rows) => {
    for (let first = 0; first < rows.length; first += LARGEST) {
      const some = rows.slice(first, first + LARGEST)
      const size = SIZES.find((each) => each >= some.length) ?? LARGEST
      const missing = (size - some.length) * columns.length
      await statementFor(size).run(...some.flat(), ...Array.from({ length: missing }, () => null))
    }
  }
}

/** The types of the first row are those of all others. */
function formatInsert(table: string, columns: readonly InsertedColumn[], size: number): string {
  const names = columns.map(({ name }) => name).join()
  const typed = `(${columns.map(({ type }) => `CAST(? AS ${type})`).join()})`
  const untyped = `(${columns.map(() => '?').join()})`
  const values = [typed, ...Array.from({ length: size - 1 }, () => untyped)].join()
  // Most transactions: a third faster on SQLite than the general form.
  if (size === 1) return `INSERT INTO ${table} (${names}) VALUES ${untyped}`
  return `INSERT INTO ${table} (${names})
    SELECT * FROM (VALUES ${values}) AS given WHERE column1 IS NOT NULL`
}
