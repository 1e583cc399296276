import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { SERVER_MAIN, SETTINGS } from '../cases/request-rows.ts'
import type { LoadReport } from '../load/load-request.ts'
import { startLoad, type Load } from '../load/start-load.ts'
import { startProcess, type MeasuredProcess } from '../measured-process.ts'
import { SERVER } from '../../../../packages/launcher/programs.mjs'
import { bystanderRequests, prepareAttacks, type Attack } from './attacks.ts'
import { fillHostileStore, type HostileShape } from './hostile-store.ts'

/** Latency of a bystander during one kind of hostile load, and just before it. */
export interface HostileRow {
  readonly name: string
  readonly rest_p50_ms: number
  readonly rest_p99_ms: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** The bystander's requests that were answered 5xx or not at all. */
  readonly failed: number
  /**
   * Answers to the hostile requests by status. 0 means that the connection ended without an answer.
   */
  readonly statuses: Readonly<Record<string, number>>
}

export interface HostileResult {
  readonly rows: readonly HostileRow[]
  /** Peak resident bytes over all rows. */
  readonly peak_rss: number
  /** Whether a server with a heap of 256 MiB survived the same loads. */
  readonly survives_small_heap: boolean
}

export interface HostileOptions extends HostileShape {
  /** Duration of each row, and of the reading at rest before it. */
  readonly forMs: number
}

const CONNECTIONS = 8
/** Four kinds of requests, 20 per second each. */
const PER_SECOND = 80
const WARM_UP_MS = 3000
/** Pause after a load, in which the server empties its queues. */
const SETTLE_MS = 3000

/**
 * Runs each kind of hostile load in turn from eight connections, beside a bystander of another
 * organization in a separate process. Then repeats all loads against a server with a small heap.
 */
export async function measureHostile(
  folder: string,
  { forMs, ...shape }: HostileOptions,
  tell: (line: string) => void,
): Promise<HostileResult> {
  const directory = join(folder, 'hostile')
  const store = await fillHostileStore(directory, shape)
  const [hostile, bystander] = [startLoad(), startLoad()]
  try {
    const server = await startHostileServer(directory, [])
    const attacks = await prepareAttacks(server.port, store)
    const requests = await bystanderRequests(server.port, store)
    await bystander.ask({ kind: 'define', set: 'bystander', requests })
    await watchBystander(bystander, server, WARM_UP_MS)
    const rows: HostileRow[] = []
    for (const attack of attacks) {
      tell(attack.name)
      rows.push(await measureAttack({ hostile, bystander, server, forMs }, attack))
    }
    const { peak } = server.rss()
    await server.stop()
    return {
      rows,
      peak_rss: peak,
      survives_small_heap: await survives(hostile, directory, attacks, forMs),
    }
  } finally {
    hostile.stop()
    bystander.stop()
  }
}

function startHostileServer(
  directory: string,
  nodeOptions: readonly string[],
): Promise<MeasuredProcess> {
  const settings = { ...SETTINGS, PALISADE_DATA_DIR: directory, PALISADE_TRUST_PROXY: '127.0.0.1' }
  const args = [...SERVER.nodeOptions, ...nodeOptions, SERVER_MAIN, 'start']
  return startProcess(args, settings, '/readyz')
}

interface Measurement {
  readonly hostile: Load
  readonly bystander: Load
  readonly server: MeasuredProcess
  readonly forMs: number
}

async function measureAttack(
  { hostile, bystander, server, forMs }: Measurement,
  { name, requests }: Attack,
): Promise<HostileRow> {
  await hostile.ask({ kind: 'define', set: name, requests })
  await setTimeout(SETTLE_MS)
  const rest = await watchBystander(bystander, server, forMs)
  const [hostileReport, beside] = await Promise.all([
    hostile.ask({
      kind: 'saturate',
      port: server.port,
      set: name,
      connections: CONNECTIONS,
      forMs,
    }),
    watchBystander(bystander, server, forMs),
  ])
  return {
    name,
    rest_p50_ms: rest.p50Ms,
    rest_p99_ms: rest.p99Ms,
    p50_ms: beside.p50Ms,
    p99_ms: beside.p99Ms,
    failed: countFailed(beside),
    statuses: hostileReport.statuses,
  }
}

function watchBystander(
  bystander: Load,
  { port }: MeasuredProcess,
  forMs: number,
): Promise<LoadReport> {
  return bystander.ask({ kind: 'pace', port, set: 'bystander', perSecond: PER_SECOND, forMs })
}

function countFailed({ statuses }: LoadReport): number {
  return Object.entries(statuses)
    .filter(([status]) => status === '0' || status.startsWith('5'))
    .reduce((sum, [, count]) => sum + count, 0)
}

/** Runs the same loads against a server with a small heap. Returns false when its process ended. */
async function survives(
  hostile: Load,
  directory: string,
  attacks: readonly Attack[],
  forMs: number,
): Promise<boolean> {
  const server = await startHostileServer(directory, ['--max-old-space-size=256'])
  for (const { name } of attacks)
    await hostile.ask({
      kind: 'saturate',
      port: server.port,
      set: name,
      connections: CONNECTIONS,
      forMs: forMs / 2,
    })
  const isAlive = server.isRunning()
  if (isAlive) await server.stop()
  return isAlive
}
