import Sqlite from 'better-sqlite3'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { casesOfRun, isFullRun, seedOfRun } from '../../lanes/run-size.ts'
import { administer, createCluster, startCluster, urlOf } from '../postgres/cluster.ts'
import { hasPostgres, place, testDatabase } from '../postgres/test-postgres.ts'
import { runServerCommand, startServerProcess } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { runKillCycles, type Victim } from './kill-cycles.ts'

const CYCLES = casesOfRun(3)
const TIMEOUT_MS = 300_000 + CYCLES * 30_000

type Settings = Readonly<Record<string, string>>

/** Initializes a store with an organization and starts a server with these settings on it. */
async function openServer(store: Settings) {
  const settings = { ...store, PALISADE_MAX_POLICIES: '1000000' }
  const init = await runServerCommand(
    ['init', '--org', 'acme', '--owner', 'alice', '--json'],
    store,
  )
  expect(init.stderr).toBe('')
  const { personal_token: secret } = JSON.parse(init.stdout) as { personal_token: string }
  let server = await startServerProcess(settings)
  return {
    secret,
    origin: () => server.url,
    async stop() {
      await server.stop('SIGKILL')
    },
    async restart() {
      server = await startServerProcess(settings)
    },
    async requireHistory() {
      const verdict = await runServerCommand(['verify-history'], store)
      if (verdict.status !== 0) throw new Error(`${verdict.stdout}${verdict.stderr}`)
    },
  }
}

async function killAndReport(name: string, victim: Victim, secret: string): Promise<void> {
  const seed = seedOfRun()
  process.stdout.write(`killing ${name}: seed ${String(seed)}\n`)
  const report = await runKillCycles(victim, { cycles: CYCLES, seed, username: 'alice', secret })
  const { acknowledged, policies, rules } = report
  process.stdout.write(
    `killing ${name}: ${String(CYCLES)} cycles, ${String(acknowledged)} acknowledged writes, ` +
      `${String(policies)} policies and ${String(rules)} rules stored as acknowledged\n`,
  )
  expect(acknowledged).toBeGreaterThan(CYCLES)
}

describe('no acknowledged write is lost and none is applied twice', () => {
  it(
    'when a server on SQLite is killed',
    async () => {
      const directory = join(temporaryDirectory(), 'data')
      const server = await openServer({ PALISADE_DATA_DIR: directory })
      const victim: Victim = {
        origin: server.origin,
        kill: server.stop,
        restore: server.restart,
        async inspect() {
          requireWhole(join(directory, 'server.db'))
          await server.requireHistory()
        },
      }
      await killAndReport('the server on SQLite', victim, server.secret)
    },
    TIMEOUT_MS,
  )

  describe.runIf(hasPostgres() && isFullRun())('on PostgreSQL', () => {
    it(
      'when the server is killed',
      async () => {
        const { url } = await testDatabase()
        const server = await openServer({ DATABASE_URL: url })
        const victim: Victim = {
          origin: server.origin,
          kill: server.stop,
          restore: server.restart,
          inspect: server.requireHistory,
        }
        await killAndReport('the server on PostgreSQL', victim, server.secret)
      },
      TIMEOUT_MS,
    )

    it(
      'when a backend process of the database is killed',
      async () => {
        const cluster = await ownCluster()
        const server = await openServer({ DATABASE_URL: cluster.url })
        const victim: Victim = {
          origin: server.origin,
          async kill() {
            const [pid] = await cluster.backends()
            if (pid === undefined) throw new Error('the server has no connection')
            process.kill(pid, 'SIGKILL')
          },
          restore: () => untilReady(server.origin()),
          inspect: server.requireHistory,
        }
        await killAndReport('a connection of PostgreSQL', victim, server.secret)
      },
      TIMEOUT_MS,
    )

    it(
      'when the whole database is killed',
      async () => {
        const cluster = await ownCluster()
        const server = await openServer({ DATABASE_URL: cluster.url })
        const victim: Victim = {
          origin: server.origin,
          kill: cluster.kill,
          async restore() {
            await cluster.start()
            await untilReady(server.origin())
          },
          inspect: server.requireHistory,
        }
        await killAndReport('all of PostgreSQL', victim, server.secret)
      },
      TIMEOUT_MS,
    )
  })
})

function requireWhole(path: string): void {
  const database = new Sqlite(path, { readonly: true, fileMustExist: true })
  try {
    const found = [database.pragma('integrity_check'), database.pragma('foreign_key_check')]
    if (JSON.stringify(found) !== '[[{"integrity_check":"ok"}],[]]')
      throw new Error(JSON.stringify(found))
  } finally {
    database.close()
  }
}

/** A durable cluster that a test may kill. */
async function ownCluster() {
  const [binaries, parent] = place()
  const directory = join(parent, `killed-${process.hrtime.bigint().toString(36)}`)
  const durable = { fsync: 'on', full_page_writes: 'on' }
  await createCluster(binaries, directory)
  let cluster = await startCluster(binaries, directory, durable)
  // Backends end on their own after the end of the postmaster.
  const kill = async (): Promise<void> => {
    if (cluster.process.kill('SIGKILL')) await once(cluster.process, 'exit')
  }
  onTestFinished(kill)
  return {
    url: urlOf(directory, 'postgres'),
    kill,
    async start() {
      cluster = await startCluster(binaries, directory, durable)
    },
    /** Process ids of the server's connections. */
    async backends(): Promise<number[]> {
      const rows = await administer<{ pid: number }>(
        directory,
        'postgres',
        `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
         AND pid <> pg_backend_pid() ORDER BY state = 'idle', random()`,
      )
      return rows.map(({ pid }) => pid)
    },
  }
}

async function untilReady(origin: string): Promise<void> {
  await expect
    .poll(async () => (await fetch(`${origin}/readyz`)).status, { timeout: 120_000, interval: 50 })
    .toBe(200)
}
