import { requireSchema } from '../../../store/require-schema.ts'
import type { PostgresConnection } from '../../../store/postgres/postgres-connection.ts'
import { EVIDENCE_MIGRATIONS } from '../sql/evidence-schema.ts'

/** The schema of the tables; the policies' tables are in the default one. */
export const EVIDENCE_SCHEMA = 'palisade_evidence'

/** "evidenc" as a number; batches of all processes share this lock, the upkeep takes it alone. */
const LOCK = String(0x65766964656e63n)
const SHARED = `SELECT pg_advisory_xact_lock_shared(${LOCK})`
const ALONE = `SELECT pg_advisory_xact_lock(${LOCK})`

/**
 * For the transaction only: a pooler between may lend the session on. A batch that waits for
 * another of its organization, and the upkeep that waits for batches, give up after `lock_timeout`.
 */
const BOUNDS = `SET LOCAL search_path TO ${EVIDENCE_SCHEMA};
  SET LOCAL statement_timeout = 10000; SET LOCAL idle_in_transaction_session_timeout = 10000;
  SET LOCAL lock_timeout = 9000;`

/** The last statement of a batch; `migrate` keeps the version. */
const VERSION = 'SELECT version FROM palisade_store'

export type Begin = (connection: PostgresConnection) => Promise<void>

/** Begins a read-only transaction on one snapshot. */
export const beginReading: Begin = (connection) =>
  begin(connection, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${BOUNDS}`)

/** Begins a transaction that writes a batch, beside others. */
export const beginAppending: Begin = (connection) => begin(connection, beginWriting(SHARED))

/** Begins a transaction beside which no batch is written. */
export const beginAlone: Begin = (connection) => begin(connection, beginWriting(ALONE))

/** Commits after `work`, or undoes it when it throws. */
export async function commitAfter<T>(
  connection: PostgresConnection,
  work: () => Promise<T>,
): Promise<T> {
  try {
    const result = await work()
    await connection.execute('COMMIT')
    return result
  } catch (error) {
    // A broken connection is discarded, and PostgreSQL undoes its transaction.
    if (!connection.isBroken()) await connection.execute('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/**
 * A database may be configured to acknowledge commits before they are on disk. It has no
 * statistics of a new table, for which reading the whole of it seems best, and keeps such a plan
 * when the table has grown. Every statement of a writer looks up an index.
 */
function beginWriting(lock: string): string {
  return `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${BOUNDS}
    SET LOCAL enable_seqscan = off;
    SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') = 'off';
    ${lock}`
}

async function begin(connection: PostgresConnection, sql: string): Promise<void> {
  const rows = await connection.execute(`${sql}; ${VERSION}`)
  try {
    requireSchema(Number(rows.at(-1)?.['version']), EVIDENCE_MIGRATIONS.length)
  } catch (error) {
    await connection.execute('ROLLBACK')
    throw error
  }
}
