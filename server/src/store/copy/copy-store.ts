import type { Connection } from '../sql/connection.ts'
import type { Table } from '../aggregates/aggregate.ts'
import { TABLES } from '../aggregates/aggregates.ts'
import { CopyError } from './copy-error.ts'
import { createRowDigest, createRowWriter, readPages } from './table-rows.ts'

/** A store as its tables, below the records. */
export interface CopyEndpoint {
  /** Where it is, for messages; without secrets. */
  readonly label: string
  /** Runs `work` on one snapshot of a store of this release's schema. */
  snapshot<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Makes the schema if it is missing, then runs `work` in one transaction. */
  fill<T>(work: (connection: Connection) => Promise<T>): Promise<T>
}

export interface CopiedTable {
  readonly name: string
  readonly rows: number
  /** The SHA-256 of all rows as they arrived, read again from the target. */
  readonly sha256: string
}

/**
 * Copies everything committed in `source` at the start to the empty store `target`, in one
 * transaction. Calls `progress` after each page. Throws CopyError, StoreError.
 */
export function copyStore(
  source: CopyEndpoint,
  target: CopyEndpoint,
  progress: (table: string, rows: number) => void,
): Promise<readonly CopiedTable[]> {
  return target.fill((to) =>
    source.snapshot(async (from) => {
      for (const table of TABLES) await requireEmpty(to, table, target.label)
      const copied: CopiedTable[] = []
      for (const table of TABLES) copied.push(await copyTable(from, to, table, progress))
      return copied
    }),
  )
}

async function requireEmpty(to: Connection, table: Table, label: string): Promise<void> {
  const row = await to.prepare(`SELECT 1 FROM ${table.name} LIMIT 1`).get()
  if (row !== undefined)
    throw new CopyError(
      'ERR_COPY_NOT_EMPTY',
      `\`${label}\` is in use already (it has ${table.name.replace('_', ' ')}); ` +
        'copy to a new, empty database',
    )
}

async function copyTable(
  from: Connection,
  to: Connection,
  table: Table,
  progress: (table: string, rows: number) => void,
): Promise<CopiedTable> {
  const sent = createRowDigest()
  const write = createRowWriter(to, table)
  let rows = 0
  for await (const page of readPages(from, table)) {
    sent.add(page)
    await write(page)
    rows += page.length
    progress(table.name, rows)
  }
  const arrived = createRowDigest()
  for await (const page of readPages(to, table)) arrived.add(page)
  const [expected, actual] = [sent.result(), arrived.result()]
  if (expected.rows !== actual.rows || expected.sha256 !== actual.sha256)
    throw new CopyError(
      'ERR_COPY_DIFFERS',
      `table ${table.name} arrived with ${actual.rows} of ${expected.rows} rows ` +
        'or different content; the copy was undone',
    )
  return { name: table.name, ...actual }
}
