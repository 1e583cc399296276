import { requireSchema } from '../require-schema.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import { TAKE_WRITE_LOCK } from './write-lock.ts'

/** The channel on which every commit is announced to the servers of a database. */
export const CHANNEL = 'palisade_commits'

/**
 * A process that hangs in the middle of its work gives the write lock back after this, and a
 * statement runs no longer. For the transaction only: a pooler between may lend the session on.
 */
const BOUNDS =
  'SET LOCAL statement_timeout = 10000; SET LOCAL idle_in_transaction_session_timeout = 10000;'

/** The lock is tried for this long even when the time was spent waiting for other writers. */
const LEAST_LOCK_WAIT_MS = 20

/** The schema's version, which `migrate` keeps; it must be the last statement of the batch. */
const VERSION = 'SELECT version FROM palisade_store'

/** Begins a read-only transaction on one snapshot; `schema` is the version that it must find. */
export async function beginSnapshot(connection: PostgresConnection, schema: number): Promise<void> {
  await begin(connection, schema, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${BOUNDS}`)
}

/**
 * Begins a transaction that runs alone among the writers of all processes; waits for them until
 * `deadline` (`performance.now`). Migrations take the same lock, so that the schema stays as it is
 * found.
 */
export async function beginWriting(
  connection: PostgresConnection,
  schema: number,
  deadline: number,
): Promise<void> {
  const waitMs = Math.max(LEAST_LOCK_WAIT_MS, Math.ceil(deadline - performance.now()))
  // A database may be configured to acknowledge commits before they are on disk; this store must
  // not be.
  await begin(
    connection,
    schema,
    `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${BOUNDS}
     SET LOCAL lock_timeout = ${waitMs};
     SELECT set_config('synchronous_commit', 'on', true)
     WHERE current_setting('synchronous_commit') = 'off';
     ${TAKE_WRITE_LOCK}`,
  )
  connection.forgetWrites()
}

/** Ends a snapshot after `work`. */
export function endSnapshot<T>(connection: PostgresConnection, work: () => Promise<T>): Promise<T> {
  return untilEnded(connection, work, async () => {
    await connection.execute('COMMIT')
  })
}

/**
 * Commits after `work`, or undoes it when it throws. `committed` gets the number of commits when
 * something was written, and null when it cannot be known whether it was.
 */
export function endWriting<T>(
  connection: PostgresConnection,
  work: () => Promise<T>,
  committed: (commits: number | null) => void,
): Promise<T> {
  return untilEnded(connection, work, async () => {
    if (!connection.hasWritten()) {
      await connection.execute('COMMIT')
      return
    }
    try {
      const [row] = await connection.execute(
        `UPDATE palisade_store SET commits = commits + 1 RETURNING commits;
         NOTIFY ${CHANNEL};
         COMMIT`,
      )
      committed(Number(row?.['commits']))
    } catch (error) {
      committed(null)
      throw error
    }
  })
}

async function begin(connection: PostgresConnection, schema: number, sql: string): Promise<void> {
  const rows = await connection.execute(`${sql}; ${VERSION}`)
  try {
    requireSchema(Number(rows.at(-1)?.['version']), schema)
  } catch (error) {
    await connection.execute('ROLLBACK')
    throw error
  }
}

async function untilEnded<T>(
  connection: PostgresConnection,
  work: () => Promise<T>,
  commit: () => Promise<void>,
): Promise<T> {
  try {
    const result = await work()
    await commit()
    return result
  } catch (error) {
    // A broken connection is discarded, and PostgreSQL undoes its transaction.
    if (!connection.isBroken()) await connection.execute('ROLLBACK').catch(() => undefined)
    throw error
  }
}
