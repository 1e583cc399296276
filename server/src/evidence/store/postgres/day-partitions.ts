import type { PostgresConnection } from '../../../store/postgres/postgres-connection.ts'
import { dayOf } from '../sql/day.ts'

/** Days before and after the arrival of a batch for which there are partitions. */
const DAYS_BACK = 400
const DAYS_AHEAD = 1

/**
 * The days of a batch that have a partition of their own. Records of a machine whose clock is wrong
 * are in the default partition: otherwise a batch could make thousands of tables.
 */
export function partitionedDays(days: ReadonlySet<number>, receivedMs: number): readonly number[] {
  const today = dayOf(receivedMs)
  return [...days].filter((day) => day >= today - DAYS_BACK && day <= today + DAYS_AHEAD)
}

/** The days that have no partition yet. */
export async function missingPartitions(
  connection: PostgresConnection,
  days: readonly number[],
): Promise<readonly number[]> {
  const known = connection.prepare<{ readonly name: string | null }>(
    'SELECT to_regclass(CAST(? AS TEXT)) AS name',
  )
  const missing: number[] = []
  for (const day of days) if ((await known.get(nameOf(day)))?.name === null) missing.push(day)
  return missing
}

/**
 * Creates a partition, in a transaction beside which no batch is written, and moves the rows of its
 * day there. A name and a bound cannot be parameters; `day` is a whole number.
 */
export async function createPartition(connection: PostgresConnection, day: number): Promise<void> {
  if ((await missingPartitions(connection, [day])).length === 0) return
  const [name, from, until] = [nameOf(day), Math.trunc(day), Math.trunc(day) + 1]
  await connection.execute(
    `CREATE TABLE ${name} (LIKE records INCLUDING DEFAULTS);
     WITH moved AS (DELETE FROM records_other WHERE day = ${from} RETURNING *)
     INSERT INTO ${name} SELECT * FROM moved;
     ALTER TABLE records ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${until})`,
  )
}

/** Drops one partition of a day before this one. Returns whether there may be more. */
export async function dropPartition(
  connection: PostgresConnection,
  before: number,
): Promise<boolean> {
  const rows = await connection.execute(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'records'::regclass`,
  )
  const days = rows.flatMap(({ name }) => {
    const digits = /^records_(\d{1,9})$/.exec(String(name))?.[1]
    return digits === undefined || Number(digits) >= before ? [] : [Number(digits)]
  })
  if (days[0] === undefined) return false
  await connection.execute(`DROP TABLE ${nameOf(Math.min(...days))}`)
  return true
}

function nameOf(day: number): string {
  return `records_${String(Math.trunc(day))}`
}
