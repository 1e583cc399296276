import type { Database } from 'better-sqlite3'
import { createHash, type Hash } from 'node:crypto'

/**
 * The content of one table: the number of rows, and a SHA-256 of all of them in the order of their
 * keys.
 */
export interface TableContent {
  readonly table: string
  readonly rows: number
  readonly sha256: string
}

interface Column {
  readonly name: string
  /** Position in the primary key, from 1; 0 outside the key. */
  readonly pk: number
}

/**
 * Reads every row of every table. Equal for two databases that hold the same, page by page or not.
 */
export function describeContent(database: Database): TableContent[] {
  const tables = database
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema
         WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
    )
    .pluck()
    .all()
  return tables.map((table) => describeTable(database, table))
}

function describeTable(database: Database, table: string): TableContent {
  const columns = database.pragma(`table_info(${quote(table)})`) as Column[]
  const key = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
  const order = key.length > 0 ? key.map(({ name }) => quote(name)).join(', ') : 'rowid'
  const hash = createHash('sha256')
  addValues(
    hash,
    columns.map(({ name }) => name),
  )
  let rows = 0
  const all = database.prepare(`SELECT * FROM ${quote(table)} ORDER BY ${order}`).raw()
  for (const row of all.iterate()) {
    addValues(hash, row as unknown[])
    rows += 1
  }
  return { table, rows, sha256: hash.digest('hex') }
}

/** Each value with its type and length, so that no two rows give the same bytes. */
function addValues(hash: Hash, values: readonly unknown[]): void {
  for (const value of values) {
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value))
    hash.update(`${value === null ? 'null' : typeof value}:${bytes.byteLength}:`).update(bytes)
  }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
