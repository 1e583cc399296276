import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { uploadFrom } from '../../evidence/upload-load.ts'
import { single } from '../../figures/range.ts'
import type { Run } from '../../figures/subject.ts'
import type { Row, Rows } from '../../figures/table.ts'
import type { LoadReport } from '../../load/load-request.ts'
import { withLoad, type Load } from '../../load/load.ts'
import { startServer, withServers, type RunningServer } from '../start-server.ts'
import { bystanderRequests, prepareAttacks, type Attack } from './attacks.ts'
import { fillHostileStore, type HostileShape } from './hostile-store.ts'

export interface HostileOptions extends HostileShape {
  /** Duration of each row, and of the reading at rest before it. */
  readonly forMs: number
  /** Pause after a load, in which the server empties its queues. */
  readonly settleMs: number
}

const CONNECTIONS = 8
/** Four kinds of requests, 20 per second each. */
const PER_SECOND = 80
const WARM_UP_MS = 3000
/** More than the server stores beside its other work. */
const UPLOADS = { recordsPerSecond: 20_000, recordsPerBatch: 2_000 } as const
const MIB = 1024 * 1024
const TRUSTED = { PALISADE_TRUST_PROXY: '127.0.0.1' } as const

interface Scene {
  readonly run: Run
  readonly server: RunningServer
  readonly hostile: Load
  readonly bystander: Load
  readonly forMs: number
  readonly settleMs: number
}

/**
 * Runs each kind of hostile load in turn from eight connections, beside a bystander of another
 * organization in a separate process. Then repeats all loads against a server with a small heap.
 */
export async function measureHostile(run: Run, options: HostileOptions): Promise<Rows> {
  const { forMs, settleMs, ...shape } = options
  const directory = join(run.folder, 'hostile')
  const store = await fillHostileStore(directory, shape)
  return withLoad((hostile) =>
    withLoad(async (bystander) => {
      const rows: Record<string, Row> = {}
      const attacked = { server: await startServer(directory, TRUSTED) }
      const attacks = await withServers(attacked, async ({ server }) => {
        const scene = { run, server, hostile, bystander, forMs, settleMs }
        await bystander.define('bystander', await bystanderRequests(server.port, store))
        await watchBystander({ ...scene, forMs: WARM_UP_MS })
        const all = await prepareAttacks(server.port, store)
        for (const attack of all) {
          run.tell(attack.name)
          rows[attack.name] = await measureAttack(scene, attack)
        }
        return all
      })
      const small = await startServer(directory, TRUSTED, ['--max-old-space-size=256'])
      for (const attack of attacks)
        await runAttack({ hostile, server: small, forMs: forMs / 2 }, attack)
      const hasEnded = !small.isRunning()
      if (!hasEnded) await small.stop()
      return { ...rows, 'all, with 256 MiB of heap': { ended: single(hasEnded ? 1 : 0) } }
    }),
  )
}

async function measureAttack(scene: Scene, attack: Attack): Promise<Row> {
  await setTimeout(scene.settleMs)
  const rest = await watchBystander(scene)
  const [statuses, beside] = await Promise.all([runAttack(scene, attack), watchBystander(scene)])
  const answers = Object.entries(statuses).map(([status, count]) => `${count} x ${status}`)
  scene.run.note(`${attack.name}: ${answers.join(', ')}`)
  return {
    'rest p99 ms': single(rest.p99Ms),
    'p50 ms': single(beside.p50Ms),
    'p99 ms': single(beside.p99Ms),
    'x rest': single(beside.p99Ms / rest.p99Ms),
    failed: single(countFailed(beside)),
    'peak MiB': single(scene.server.rss().peak / MIB),
  }
}

/** Returns the answers by status; batches of records as `stored` and `refused`. */
async function runAttack(
  { hostile, server: { port }, forMs }: Pick<Scene, 'hostile' | 'server' | 'forMs'>,
  attack: Attack,
): Promise<Readonly<Record<string, number>>> {
  const { name } = attack
  if ('machines' in attack) {
    const server = `http://127.0.0.1:${port}`
    const sent = await uploadFrom({ server, machines: attack.machines, forMs, ...UPLOADS })
    return { stored: sent.records / UPLOADS.recordsPerBatch, refused: sent.failed_batches }
  }
  await hostile.define(name, attack.requests)
  return (await hostile.run({ port, set: name, connections: CONNECTIONS, forMs })).statuses
}

function watchBystander({ bystander, server: { port }, forMs }: Scene): Promise<LoadReport> {
  return bystander.pace({ port, set: 'bystander', perSecond: PER_SECOND, forMs })
}

/** The bystander's requests that were answered 5xx or not at all. */
function countFailed({ statuses }: LoadReport): number {
  return Object.entries(statuses)
    .filter(([status]) => status === '0' || status.startsWith('5'))
    .reduce((sum, [, count]) => sum + count, 0)
}
