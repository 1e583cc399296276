import { createHash, type Hash } from 'node:crypto'
import type { Connection, Value } from '../sql/connection.ts'
import type { Table } from '../aggregates/aggregate.ts'

export type Row = Readonly<Record<string, Value>>

/** Rows fetched at once: a rule may have 400 KB. */
const PAGE_ROWS = 100

/** All rows of the table in the order of its key, some at a time. */
export async function* readPages(connection: Connection, table: Table): AsyncGenerator<Row[]> {
  const columns = table.key.join(', ')
  const order = `ORDER BY ${columns} LIMIT ${PAGE_ROWS}`
  const first = connection.prepare<Row>(`SELECT * FROM ${table.name} ${order}`)
  const after = connection.prepare<Row>(
    `SELECT * FROM ${table.name}
       WHERE (${columns}) > (${table.key.map(() => '?').join(', ')}) ${order}`,
  )
  let page = await first.all()
  for (;;) {
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    page = await after.all(...table.key.map((column) => last[column] ?? null))
  }
}

/** Writes the rows, many in one statement. */
export function createRowWriter(
  connection: Connection,
  table: Table,
): (rows: readonly Row[]) => Promise<void> {
  return async (rows) => {
    const [first] = rows
    if (first === undefined) return
    const columns = Object.keys(first)
    const placeholders = `(${columns.map(() => '?').join(', ')})`
    const insert = connection.prepare(
      `INSERT INTO ${table.name} (${columns.join(', ')})
         VALUES ${rows.map(() => placeholders).join(', ')}`,
    )
    await insert.run(...rows.flatMap((row) => columns.map((column) => row[column] ?? null)))
  }
}

/**
 * A digest of rows, the same for every database: equal columns and values in the same order give
 * equal digests.
 */
export interface RowDigest {
  add(rows: readonly Row[]): void
  /** Hexadecimal SHA-256. */
  result(): { readonly rows: number; readonly sha256: string }
}

export function createRowDigest(): RowDigest {
  const hash = createHash('sha256')
  let count = 0
  return {
    add(rows) {
      for (const row of rows) addRow(hash, row)
      count += rows.length
    },
    result: () => ({ rows: count, sha256: hash.digest('hex') }),
  }
}

function addRow(hash: Hash, row: Row): void {
  const columns = Object.keys(row).toSorted()
  const values = columns.map((column) => {
    const value = row[column]
    return value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('base64') } : value
  })
  hash.update(`${JSON.stringify([columns, values])}\n`)
}
