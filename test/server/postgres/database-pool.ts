import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openPostgresEvidence } from '../../../server/src/evidence/store/postgres/open-postgres-evidence.ts'
import { openPostgresStore } from '../../../server/src/store/postgres/open-postgres-store.ts'
import { administer, createCluster, startCluster, urlOf } from './cluster.ts'

/** A database for exclusive use, with the newest schema and no rows. */
export interface BorrowedDatabase {
  readonly url: string
  /** Runs statements as the administrator. Returns the rows of the last one. */
  administer<Row extends object>(sql: string): Promise<Row[]>
  /** Ends all other connections to it once. */
  cutConnections(): Promise<void>
  giveBack(): Promise<void>
}

/** Borrows a database of the run's cluster in `directory`. The first caller starts the cluster. */
export async function borrowDatabase(
  binaries: string,
  directory: string,
): Promise<BorrowedDatabase> {
  const cluster = await ensureCluster(binaries, directory)
  const name = await takeDatabase(cluster)
  const run = <Row extends object>(sql: string) => administer<Row>(cluster, name, sql)
  return {
    url: urlOf(cluster, name),
    administer: run,
    async cutConnections() {
      await run(CUT_CONNECTIONS)
    },
    async giveBack() {
      await run(`${CUT_CONNECTIONS}; ${EMPTY}`)
      await administer(cluster, 'postgres', `INSERT INTO free (name) VALUES ('${name}')`)
    },
  }
}

/** Creates a database without a schema, which ends with the cluster. */
export async function createEmptyDatabase(binaries: string, directory: string): Promise<string> {
  const cluster = await ensureCluster(binaries, directory)
  return urlOf(cluster, await createDatabase(cluster, 'template0'))
}

const CUT_CONNECTIONS = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`

/** Empties a database for reuse: creating one takes longer than most tests. */
const EMPTY = `DO $$ BEGIN EXECUTE (
  SELECT 'TRUNCATE ' || string_agg(format('%I.%I', schemaname, tablename), ', ')
    || ' RESTART IDENTITY'
  FROM pg_tables
  WHERE schemaname IN ('public', 'palisade_evidence') AND tablename <> 'palisade_store'
); END $$`

async function takeDatabase(cluster: string): Promise<string> {
  const [free] = await administer<{ name: string }>(
    cluster,
    'postgres',
    `DELETE FROM free WHERE name = (SELECT name FROM free LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING name`,
  )
  return free?.name ?? createDatabase(cluster, 'template_palisade')
}

async function createDatabase(cluster: string, template: string): Promise<string> {
  const [row] = await administer<{ name: string }>(
    cluster,
    'postgres',
    "SELECT 'test_' || nextval('names') AS name",
  )
  const name = row?.name ?? ''
  await administer(cluster, 'postgres', `CREATE DATABASE ${name} TEMPLATE ${template}`)
  return name
}

async function ensureCluster(binaries: string, directory: string): Promise<string> {
  const cluster = join(directory, 'shared')
  const [ready, failed] = [join(directory, 'ready'), join(directory, 'failed')]
  if (existsSync(ready)) return cluster
  if (!claims(join(directory, 'claim'))) return untilReady(cluster, ready, failed)
  try {
    await createCluster(binaries, cluster)
    await startCluster(binaries, cluster)
    await administer(cluster, 'postgres', 'CREATE TABLE free (name TEXT); CREATE SEQUENCE names')
    await administer(cluster, 'postgres', 'CREATE DATABASE template_palisade')
    const store = await openPostgresStore(urlOf(cluster, 'template_palisade'))
    await store.close()
    const evidence = await openPostgresEvidence(urlOf(cluster, 'template_palisade'))
    await evidence.close()
    writeFileSync(ready, '')
    return cluster
  } catch (error) {
    writeFileSync(failed, String(error))
    throw error
  }
}

/** Returns true for the first caller among all processes. */
function claims(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch {
    return false
  }
}

async function untilReady(cluster: string, ready: string, failed: string): Promise<string> {
  while (!existsSync(ready)) {
    if (existsSync(failed)) throw new Error(`the cluster did not start, see ${failed}`)
    await pause(50)
  }
  return cluster
}
