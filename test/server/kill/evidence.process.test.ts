import {
  agentStatusSchema,
  auditPageSchema,
  deviceRecordsSchema,
  type RecordLine,
} from '@palisade/protocol'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../../../bench/src/workload/random.ts'
import { runAgent, waitForState, type AgentRun } from '../../agent/fixture/agent-process.ts'
import { askAgent } from '../../agent/fixture/local-request.ts'
import { readRecords } from '../../agent/records/record-scene.ts'
import { casesOfRun, isFullRun, seedOfRun } from '../../lanes/run-size.ts'
import { hasPostgres, testDatabase } from '../postgres/test-postgres.ts'
import { runServerCommand, startServerProcess } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const CYCLES = casesOfRun(10)
const TIMEOUT_MS = 300_000 + CYCLES * 60_000
/** Denials are sent five seconds after they were decided. */
const LONGEST_CYCLE_MS = 6_000
const WAIT = { timeout: 300_000, interval: 100 } as const
const VICTIMS = ['agent', 'server', 'both'] as const

type Settings = Readonly<Record<string, string>>

describe('each record on a machine is stored once while machine and server are killed', () => {
  it('with SQLite', () => killAndCompare({}), TIMEOUT_MS)

  it.runIf(hasPostgres() && isFullRun())(
    'with PostgreSQL',
    async () => killAndCompare({ DATABASE_URL: (await testDatabase()).url }),
    TIMEOUT_MS,
  )
})

async function killAndCompare(store: Settings): Promise<void> {
  const seed = seedOfRun()
  const random = createRandom(seed)
  const scene = await openScene(store)
  let decided = 0
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    const victim = VICTIMS[random.integer(VICTIMS.length)]
    for (let count = 1 + random.integer(30); count > 0; count -= 1) {
      await scene.deny(`${decided}.test`)
      decided += 1
    }
    await pause(random.next() * LONGEST_CYCLE_MS)
    await Promise.all([
      victim === 'server' ? null : scene.killAgent(),
      victim === 'agent' ? null : scene.killServer(),
    ])
    await scene.restore()
  }
  await expect.poll(scene.waiting, WAIT).toBe(0)

  const kept = await scene.readKept()
  const stored = await scene.readStored()
  process.stdout.write(
    `killing during uploads: seed ${seed}, ${CYCLES} cycles, ${decided} decisions, ` +
      `${kept.hosts.length} on disk and ${stored.hosts.length} stored\n`,
  )
  expect(kept.hosts.length).toBeGreaterThan(0)
  expect(stored.hosts.toSorted()).toEqual(kept.hosts.toSorted())
  expect(stored.chain).toMatchObject({ gaps: 0, forks: 0, rewinds: 0, lost: kept.lost })
}

/** A server with one enrolled machine that uploads all records. */
async function openScene(store: Settings) {
  const directory = temporaryDirectory()
  const settings = { PALISADE_DATA_DIR: join(directory, 'server'), ...store }
  const made = await runServerCommand(
    ['init', '--org', 'acme', '--owner', 'alice', '--json'],
    settings,
  )
  expect(made.stderr).toBe('')
  const { personal_token } = JSON.parse(made.stdout) as { personal_token: string }
  let server = await startServerProcess(settings)
  const port = new URL(server.url).port
  const dataDir = join(directory, 'agent')
  const out = join(dataDir, 'agent', 'enrolment.json')
  const enrolled = await runServerCommand(
    ['device', 'enrol', '--org', 'acme', '--server', server.url, '--out', out],
    settings,
  )
  expect(enrolled.stderr).toBe('')
  const socketPath = join(dataDir, 'agent', 'agent.sock')
  const env = { PALISADE_DATA_DIR: dataDir, PALISADE_PROXY_PORT: '0' }

  const send = async (
    method: string,
    path: string,
    body?: object,
    token = '',
  ): Promise<unknown> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    expect(response.status, path).toBe(200)
    return response.json()
  }
  const signIn = async (): Promise<string> => {
    const secret = { username: 'alice', password: personal_token }
    return ((await send('POST', '/v2/auth/token', secret)) as { access_token: string }).access_token
  }
  const evidence = { upload: 'full' }
  await send('PATCH', '/api/v1/orgs/acme', { evidence }, await signIn())
  let isServing = true
  let agent: AgentRun = runAgent(['start'], env)
  await waitForState(socketPath, 'fresh')

  return {
    async deny(host: string): Promise<void> {
      const body = JSON.stringify({ action: 'connect:tcp', host, port: 443 })
      const answer = await askAgent(socketPath, 'POST', '/v1/decide', body)
      expect(answer.body).toMatchObject({ decision: 'deny' })
    },
    async killAgent(): Promise<void> {
      agent.child.kill('SIGKILL')
      await once(agent.child, 'exit')
    },
    async killServer(): Promise<void> {
      await server.stop('SIGKILL')
      isServing = false
    },
    /** Starts those that were killed. */
    async restore(): Promise<void> {
      if (!isServing) server = await startServerProcess({ ...settings, PALISADE_PORT: port })
      isServing = true
      if (agent.child.signalCode !== null) agent = runAgent(['start'], env)
      await waitForState(socketPath, 'fresh')
    },
    /** Lines that are not uploaded yet; null before the first upload of this start. */
    async waiting(): Promise<number | null> {
      const { body } = await askAgent(socketPath, 'GET', '/v1/status')
      return agentStatusSchema.parse(body).upload?.waiting ?? null
    },
    async readKept() {
      const lines = await readRecords(join(dataDir, 'agent', 'records'))
      return {
        hosts: lines.flatMap((line) => hostsOf(line)),
        lost: lines.reduce((sum, line) => sum + ('lost' in line ? line.lost : 0), 0),
      }
    },
    async readStored() {
      const token = await signIn()
      const get = (path: string): Promise<unknown> => send('GET', path, undefined, token)
      const hosts: string[] = []
      let page = ''
      do {
        const after = page === '' ? '' : `&page_token=${page}`
        const path = `/v2/auditlogs/governance/acme?page_size=500${after}`
        const { events, next_page_token } = auditPageSchema.parse(await get(path))
        for (const { payload, count } of events)
          hosts.push(...Array.from({ length: count }, () => payload.network_egress?.host ?? ''))
        page = next_page_token
      } while (page !== '')
      const { data } = (await get('/api/v1/orgs/acme/devices')) as { data: { id: string }[] }
      const path = `/api/v1/orgs/acme/devices/${data[0]?.id ?? ''}/records`
      return { hosts, chain: deviceRecordsSchema.parse(await get(path)) }
    },
  }
}

/** The host once for each decision of the line. */
function hostsOf(line: RecordLine): readonly string[] {
  if (!('count' in line)) return []
  const { request } = line.decision
  const host = request !== null && 'host' in request ? request.host : ''
  return Array.from({ length: line.count }, () => host)
}
