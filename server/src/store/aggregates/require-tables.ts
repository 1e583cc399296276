import type { Connection } from '../sql/connection.ts'
import { TABLES } from './aggregates.ts'

/** Reads no row. */
const EVERY_TABLE = TABLES.map(({ name }) => `SELECT 1 FROM ${name} WHERE 1 = 0`).join(
  ' UNION ALL ',
)

/** Throws `ERR_STORE_SCHEMA_DAMAGED` unless the database has every table. */
export async function requireTables(connection: Connection): Promise<void> {
  await connection.prepare(EVERY_TABLE).get()
}
