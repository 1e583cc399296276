import { join } from 'node:path'
import { single } from '../figures/range.ts'
import type { Row, Rows } from '../figures/table.ts'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import { withLoad } from '../load/load.ts'
import { pollRequests } from '../load/requests.ts'
import { besideBare, type RequestOptions } from '../server/measure-requests.ts'
import { startBare, startServer, withServers } from '../server/start-server.ts'

const ORGANIZATIONS = 100
const POLICIES = { policies: 1, rulesPerPolicy: 10, editors: 1 } as const
/** The polling period of an agent. */
const PERIOD_SECONDS = 300
const COUNTED = 1_000_000
/** Agents of each organization whose connections close; ports are few. */
const FEW = 10
const MIB = 1024 * 1024

/** Measures fleets of several sizes, ascending, and counts a larger one from the last of them. */
export async function measurePolls(
  folder: string,
  sizes: readonly number[],
  options: RequestOptions,
): Promise<Rows> {
  const rows: Record<string, Row> = {}
  let last: Row = {}
  for (const agents of sizes) {
    last = await measureSize(join(folder, `fleet-${agents}`), agents, options)
    rows[`${agents} agents`] = last
  }
  const cpuUs = last[OWN]?.median ?? Number.NaN
  return { ...rows, [`${COUNTED} agents, counted`]: loadOf(COUNTED, cpuUs) }
}

const KEPT = 'kept connection, CPU us'
const OWN = 'own connection, CPU us'

/**
 * Measures polls answered 304 by agents that poll in turn, each with its own token, entity tag and
 * last-seen time. An agent holds no connection between two polls: it opens one for each.
 */
async function measureSize(
  directory: string,
  agents: number,
  options: RequestOptions,
): Promise<Row> {
  const devices = agents / ORGANIZATIONS
  const shape = { ...POLICIES, devices }
  const filled = await fillDataDirectory(directory, 'fleet', ORGANIZATIONS, shape)
  const servers = { bare: await startBare(), ours: await startServer(directory) }
  return withServers(servers, ({ bare, ours }) =>
    withLoad(async (load) => {
      await load.define('first', pollRequests(filled))
      await load.prime(ours.port, 'first', 'kept')
      const few = filled.map((each) => ({ ...each, deviceTokens: each.deviceTokens.slice(0, FEW) }))
      await load.define('closing', pollRequests(few, ['connection: close']))
      await load.prime(ours.port, 'closing', 'own')
      const { reads, writes, warmUp } = options
      const of = { server: ours, expected: 304 }
      const lanes = [
        { ...of, name: KEPT, set: 'kept', count: reads, warmUp },
        { ...of, name: OWN, set: 'own', count: writes, warmUp: warmUp / 5 },
      ]
      const { [KEPT]: kept, [OWN]: own } = await besideBare(load, bare, lanes, options)
      const [cpuKept, cpuOwn, ratio] = [kept?.['CPU us'], own?.['CPU us'], kept?.['x bare']]
      if (cpuKept === undefined || cpuOwn === undefined || ratio === undefined)
        throw new Error('a lane is missing')
      return {
        [KEPT]: cpuKept,
        'x bare': ratio,
        [OWN]: cpuOwn,
        ...loadOf(agents, cpuOwn.median),
        'server MiB': single(ours.rss().now / MIB),
      }
    }),
  )
}

/** The load of agents that poll every five minutes, evenly spread. */
function loadOf(agents: number, cpuUs: number): Row {
  const perSecond = agents / PERIOD_SECONDS
  return { 'polls a second': single(perSecond), processors: single((perSecond * cpuUs) / 1e6) }
}
