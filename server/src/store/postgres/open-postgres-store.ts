import pg from 'pg'
import type { Migration } from '../sql/dialect.ts'
import { MIGRATIONS } from '../sql/migrations/migrations.ts'
import { requireTables } from '../aggregates/require-tables.ts'
import { createReader, createWriter } from '../aggregates/accessors.ts'
import { createWriteCache } from '../sql/write-cache.ts'
import { StoreError } from '../store-error.ts'
import type { OpenMode } from '../open-mode.ts'
import type { Store } from '../store.ts'
import { parseDatabaseUrl, type DatabaseAddress } from './database-url.ts'
import { migrate, requireNewest } from './migrate.ts'
import {
  createPostgresConnection,
  type PostgresConnection,
  type StatementTexts,
} from './postgres-connection.ts'
import { translate } from './postgres-error.ts'
import { clientConfig, createSessions } from './sessions.ts'
import { beginSnapshot, beginWriting, endSnapshot, endWriting } from './transactions.ts'
import { watchCommits } from './watch-commits.ts'

/** How long a writer waits for those of all processes before it. */
const WRITE_WITHIN_MS = 5_000
/** Default of `connections`. */
const READ_CONNECTIONS = 10

/** The oldest release that PostgreSQL's own project still looks after. */
const LEAST_SERVER_VERSION = 140_000

/**
 * Opens the store in the database that `url` names; with `create` (the default) its schema is made
 * and brought up to date. Throws StoreError, and RangeError for a URL that cannot be used.
 *
 * Readers and the one writer have separate connections, so that a writer never waits for readers.
 * One more connection watches for commits of other processes.
 */
export async function openPostgresStore(
  url: string,
  options: {
    readonly migrations?: readonly Migration[]
    readonly connections?: number
    readonly opening?: OpenMode
  } = {},
): Promise<Store> {
  const address = parseDatabaseUrl(url)
  const texts: StatementTexts = new Map()
  const migrations = options.migrations ?? MIGRATIONS
  const schema = migrations.length
  await withConnection(address, { mayTakeLong: true }, async (connection) => {
    await requireUsable(connection)
    if (options.opening === 'existing') await requireNewest(connection, migrations, address.label)
    else await migrate(connection, migrations)
  })
  const readers = createSessions(
    address,
    options.connections ?? READ_CONNECTIONS,
    texts,
    createReader,
  )
  const writers = createSessions(address, 1, texts, (connection) => {
    const cache = createWriteCache()
    return { cache, writer: createWriter(connection, cache) }
  })
  const commits = watchCommits(address, schema)
  await commits.started
  return {
    read: (work) =>
      readers.use(
        (connection) => beginSnapshot(connection, schema),
        (reader, connection) => endSnapshot(connection, () => work(reader)),
      ),
    transaction(work) {
      const deadline = performance.now() + WRITE_WITHIN_MS
      return writers.use(
        (connection) => beginWriting(connection, schema, deadline),
        ({ cache, writer }, connection) => {
          // Another process may have written since; asking whether costs as much as reading.
          cache.forget()
          return endWriting(connection, () => work(writer), commits.committed)
        },
      )
    },
    generation: commits.generation,
    ping: () =>
      readers.use(
        async (connection) => {
          await requirePrimary(connection)
          await beginSnapshot(connection, schema)
        },
        (_reader, connection) => endSnapshot(connection, () => requireTables(connection)),
      ),
    async close() {
      await Promise.all([readers.close(), writers.close()])
      await commits.close()
    },
  }
}

/**
 * Runs `work` on a connection of its own, outside any transaction. Throws StoreError; with
 * `mayTakeLong` an answer is waited for without end.
 */
export async function withConnection<T>(
  address: DatabaseAddress,
  options: { readonly mayTakeLong: boolean },
  work: (connection: PostgresConnection) => Promise<T>,
): Promise<T> {
  const config = clientConfig(address)
  const client = new pg.Client(options.mayTakeLong ? { ...config, query_timeout: 0 } : config)
  // A query that fails says so itself; unheard, the event would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect().catch((error: unknown) => {
      throw translate(error)
    })
    return await work(createPostgresConnection(client, new Map()))
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function requireUsable(connection: PostgresConnection): Promise<void> {
  const [row] = await connection.execute(
    `SELECT current_setting('server_version_num') AS version,
       current_setting('server_encoding') AS encoding`,
  )
  if (Number(row?.['version']) < LEAST_SERVER_VERSION)
    throw new StoreError('ERR_STORE_UNAVAILABLE', 'PostgreSQL 14 or newer is needed')
  if (row?.['encoding'] !== 'UTF8')
    throw new StoreError('ERR_STORE_UNAVAILABLE', 'the database must have the encoding UTF8')
  await requirePrimary(connection)
}

/** A standby answers reads and takes no writes. */
async function requirePrimary(connection: PostgresConnection): Promise<void> {
  const [row] = await connection.execute('SELECT pg_is_in_recovery() AS standby')
  if (row?.['standby'] !== 'f')
    throw new StoreError('ERR_STORE_UNAVAILABLE', 'the database is a standby and accepts no writes')
}
