import type { Migration } from '../sql/dialect.ts'
import { requireExisting } from '../opening.ts'
import { StoreError } from '../store-error.ts'
import { POSTGRES } from './dialect.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import { TAKE_WRITE_LOCK } from './write-lock.ts'

/** A longer migration of another process than this one waits for. */
const LOCK_WITHIN_MS = 60_000

/** Throws unless the database has the newest schema. */
export async function requireNewest(
  connection: PostgresConnection,
  migrations: readonly Migration[],
  label: string,
): Promise<void> {
  const version = (await hasSchema(connection)) ? await readVersion(connection) : 0
  requireKnown(version, migrations)
  requireExisting(version, migrations.length, label)
}

/**
 * Brings the database to the newest of `migrations` in one transaction, or leaves it as it was.
 * Throws `ERR_STORE_SCHEMA_TOO_NEW` for a database that a newer release has written.
 *
 * `palisade_store` has one row: the schema's version, and how often something was committed.
 */
export async function migrate(
  connection: PostgresConnection,
  migrations: readonly Migration[],
): Promise<void> {
  // The lock of the writers: processes that start together take turns, and no other writer runs.
  await connection.execute(
    `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
     SET LOCAL lock_timeout = ${LOCK_WITHIN_MS};
     ${TAKE_WRITE_LOCK}`,
  )
  const version = await versionOf(connection)
  requireKnown(version, migrations)
  if (version < migrations.length) {
    for (const step of migrations.slice(version)) await connection.execute(step(POSTGRES))
    await connection.execute(`UPDATE palisade_store SET version = ${migrations.length}`)
  }
  await connection.execute('COMMIT')
}

async function versionOf(connection: PostgresConnection): Promise<number> {
  if (await hasSchema(connection)) return readVersion(connection)
  await connection.execute(
    `CREATE TABLE palisade_store (version BIGINT NOT NULL, commits BIGINT NOT NULL);
     INSERT INTO palisade_store (version, commits) VALUES (0, 0)`,
  )
  return 0
}

async function hasSchema(connection: PostgresConnection): Promise<boolean> {
  const [table] = await connection.execute("SELECT to_regclass('palisade_store') AS name")
  return table?.['name'] !== null
}

async function readVersion(connection: PostgresConnection): Promise<number> {
  const [row] = await connection.execute('SELECT version FROM palisade_store')
  return Number(row?.['version'])
}

function requireKnown(version: number, { length: known }: readonly Migration[]): void {
  if (version <= known) return
  throw new StoreError(
    'ERR_STORE_SCHEMA_TOO_NEW',
    `the database has schema ${version} and this release knows ${known}; start the release that wrote it, or a newer one`,
  )
}
