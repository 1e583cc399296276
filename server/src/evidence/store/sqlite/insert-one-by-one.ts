import type { Database } from 'better-sqlite3'
import type { Value } from '../../../store/sql/connection.ts'
import type { InsertedColumn, InsertedTable, InsertRows } from '../../../store/sql/insert-rows.ts'
import { guard } from '../../../store/sqlite/sqlite-error.ts'

/**
 * One statement a row: a statement with thousands of parameters takes three times as long here.
 */
export function insertOneByOne(
  database: Database,
  { name, conflict = '' }: InsertedTable,
  columns: readonly InsertedColumn[],
): InsertRows {
  const names = columns.map((column) => column.name).join()
  const parameters = columns.map(() => '?').join()
  const insert = guard(() =>
    database.prepare<Value[]>(`INSERT INTO ${name} (${names}) VALUES (${parameters}) ${conflict}`),
  )
  return {
    async run(rows) {
      guard(() => {
        for (const row of rows) insert.run(...row)
      })
    },
  }
}
