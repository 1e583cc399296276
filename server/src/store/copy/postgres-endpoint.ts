import { MIGRATIONS } from '../sql/migrations/migrations.ts'
import { parseDatabaseUrl } from '../postgres/database-url.ts'
import { openPostgresStore, withConnection } from '../postgres/open-postgres-store.ts'
import type { PostgresConnection } from '../postgres/postgres-connection.ts'
import { CHANNEL } from '../postgres/transactions.ts'
import { TAKE_WRITE_LOCK } from '../postgres/write-lock.ts'
import { CopyError } from './copy-error.ts'
import type { CopyEndpoint } from './copy-store.ts'

const LONG = { mayTakeLong: true }

/** The PostgreSQL database of the URL. A source is only read. Throws RangeError for no URL. */
export function createPostgresEndpoint(url: string): CopyEndpoint {
  const address = parseDatabaseUrl(url)
  return {
    label: address.label,

    // Uncommitted changes are undone when the connection ends.
    snapshot: (work) =>
      withConnection(address, LONG, async (connection) => {
        await connection.execute('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
        await requireSchema(connection, address.label)
        return work(connection)
      }),

    async fill(work) {
      const store = await openPostgresStore(url)
      await store.close()
      return withConnection(address, LONG, async (connection) => {
        await connection.execute(
          `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = 5000;
           ${TAKE_WRITE_LOCK}`,
        )
        const result = await work(connection)
        await advanceSerials(connection)
        await connection.execute(
          `UPDATE palisade_store SET commits = commits + 1; NOTIFY ${CHANNEL}; COMMIT`,
        )
        return result
      })
    },
  }
}

async function requireSchema(connection: PostgresConnection, label: string): Promise<void> {
  const [table] = await connection.execute("SELECT to_regclass('palisade_store') AS name")
  const rows =
    table?.['name'] === null ? [] : await connection.execute('SELECT version FROM palisade_store')
  const version = Number(rows[0]?.['version'] ?? 0)
  if (version !== MIGRATIONS.length)
    throw new CopyError(
      'ERR_COPY_SCHEMA',
      `\`${label}\` has schema ${version} and this release needs ${MIGRATIONS.length}; ` +
        'start this release on it once',
    )
}

/** Rows that brought their numbers along have not moved the counters from which new ones come. */
async function advanceSerials(connection: PostgresConnection): Promise<void> {
  const tables = await connection.execute(
    `SELECT table_name FROM information_schema.columns
     WHERE table_schema = current_schema() AND column_name = 'place' AND is_identity = 'YES'`,
  )
  for (const { table_name } of tables)
    await connection.execute(
      `SELECT setval(pg_get_serial_sequence('${String(table_name)}', 'place'), max(place))
       FROM ${String(table_name)} HAVING max(place) IS NOT NULL`,
    )
}
