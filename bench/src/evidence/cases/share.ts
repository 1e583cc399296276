import { execFile } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  administer,
  binariesOf,
  createCluster,
  startCluster,
  stopCluster,
  urlOf,
} from '../../../../test/server/postgres/cluster.ts'
import { cpuUsOf, cpuUsOfEnded, writtenBytesOf } from '../../measure/process-counters.ts'
import { treeOf } from '../../measure/process-tree.ts'
import { fillFleet } from '../../hints/fill-fleet.ts'
import { DATABASE_FILE } from '../../../../server/src/operations/storage/data-directory.ts'
import { SERVER_MAIN, startServer } from '../../server/cases/request-rows.ts'
import { uploadFrom } from '../upload-load.ts'

export interface ShareOptions {
  readonly machines: number
  readonly forMs: number
  readonly recordsPerSecond: number
}

/** What uploads of a fleet take, in the time that they lasted. */
export interface StoreShare {
  readonly store: 'PostgreSQL' | 'SQLite'
  readonly records_per_second: number
  readonly failed_batches: number
  /** Parts of one core. */
  readonly server_cores: number
  readonly database_cores: number
  /** By server and database, to storage. */
  readonly written_kib_per_second: number
}

/** An agent sums up its decisions for some minutes. */
const RECORDS_PER_BATCH = 50
/** Pages are written later than their transactions. */
const SETTLE_MS = 5_000

/** Measures both stores, one after the other; PostgreSQL only where there are binaries for it. */
export async function measureShare(
  folder: string,
  options: ShareOptions,
): Promise<readonly StoreShare[]> {
  const directory = join(folder, 'share')
  const { machines } = await fillFleet(directory, options.machines)
  const measured = { directory, machines, options }
  const binaries = binariesOf()
  const onPostgres = binaries === null ? [] : [await measurePostgres(folder, binaries, measured)]
  return [...onPostgres, await measure('SQLite', measured)]
}

interface Measured {
  readonly directory: string
  readonly machines: Awaited<ReturnType<typeof fillFleet>>['machines']
  readonly options: ShareOptions
}

async function measurePostgres(
  folder: string,
  binaries: string,
  measured: Measured,
): Promise<StoreShare> {
  const place = join(folder, 'pg')
  // For the user that PostgreSQL runs as.
  chmodSync(folder, 0o711)
  await createCluster(binaries, place)
  // As it ships, but for the memory that its documentation recommends.
  const cluster = await startCluster(binaries, place, {
    fsync: 'on',
    full_page_writes: 'on',
    shared_buffers: '256MB',
  })
  try {
    const url = urlOf(place, 'postgres')
    const copy = ['copy', '--from', join(measured.directory, DATABASE_FILE), '--to', url]
    await promisify(execFile)(process.execPath, [SERVER_MAIN, ...copy])
    return await measure('PostgreSQL', measured, {
      settings: { DATABASE_URL: url },
      pids: [cluster.process.pid ?? 0],
      // As its autovacuum does within the first minutes of a new table.
      warmed: async () => void (await administer(place, 'postgres', 'ANALYZE')),
    })
  } finally {
    cluster.process.ref()
    await stopCluster(cluster)
  }
}

interface Database {
  readonly settings: Readonly<Record<string, string>>
  readonly pids: readonly number[]
  /** Called after the first batches. */
  warmed(): Promise<void>
}

const IN_THE_SERVER: Database = { settings: {}, pids: [], warmed: () => Promise.resolve() }

async function measure(
  store: StoreShare['store'],
  { directory, machines, options: { forMs, recordsPerSecond } }: Measured,
  database = IN_THE_SERVER,
): Promise<StoreShare> {
  const server = await startServer(directory, database.settings)
  const counted = () => {
    const pids = database.pids.flatMap(treeOf).map(({ pid }) => pid)
    const sum = (of: (pid: number) => number) => pids.reduce((all, pid) => all + of(pid), 0)
    return {
      serverUs: server.cpuUs(),
      // A connection of PostgreSQL is a process, which ends with it.
      databaseUs: sum(cpuUsOf) + sum(cpuUsOfEnded),
      written: sum(writtenBytesOf) + writtenBytesOf(server.pid),
    }
  }
  const load = {
    server: `http://127.0.0.1:${server.port}`,
    machines,
    recordsPerSecond,
    recordsPerBatch: RECORDS_PER_BATCH,
  }
  try {
    // One batch of each machine: the first one brings it a token, as once an hour.
    const eachMs = (1000 * machines.length * RECORDS_PER_BATCH) / recordsPerSecond
    await uploadFrom({ ...load, forMs: eachMs })
    await database.warmed()
    await pause(SETTLE_MS)
    const before = counted()
    const { records, elapsed_ms, failed_batches } = await uploadFrom({ ...load, forMs })
    await pause(SETTLE_MS)
    const after = counted()
    const coresOf = (us: number) => us / 1000 / elapsed_ms
    return {
      store,
      records_per_second: (1000 * records) / elapsed_ms,
      failed_batches,
      server_cores: coresOf(after.serverUs - before.serverUs),
      database_cores: coresOf(after.databaseUs - before.databaseUs),
      written_kib_per_second: (after.written - before.written) / 1.024 / elapsed_ms,
    }
  } finally {
    await server.stop()
  }
}
