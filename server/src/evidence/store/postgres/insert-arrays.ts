import type { Connection, Value } from '../../../store/sql/connection.ts'
import type { InsertedColumn, InsertedTable, InsertRows } from '../../../store/sql/insert-rows.ts'

/** Rows of one statement, which bounds its text. */
const ROWS = 1_000

/**
 * One array a column: a statement with a parameter for each value of a full batch takes three times
 * as long, here and in the database.
 */
export function insertArrays(
  connection: Connection,
  { name, conflict = '' }: InsertedTable,
  columns: readonly InsertedColumn[],
): InsertRows {
  const names = columns.map((column) => column.name).join()
  const arrays = columns.map(({ type }) => `CAST(? AS ${type}[])`).join()
  const insert = connection.prepare(
    `INSERT INTO ${name} (${names}) SELECT * FROM unnest(${arrays}) ${conflict}`,
  )
  return {
    async run(rows) {
      for (let first = 0; first < rows.length; first += ROWS) {
        const some = rows.slice(first, first + ROWS)
        await insert.run(...columns.map((_, index) => formatArray(some, index)))
      }
    },
  }
}

/** A column of rows as the text of an array. */
function formatArray(rows: readonly (readonly Value[])[], index: number): string {
  return `{${rows.map((row) => formatElement(row[index] ?? null)).join()}}`
}

function formatElement(value: Value): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  return `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`
}
