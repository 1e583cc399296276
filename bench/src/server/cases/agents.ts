import { join } from 'node:path'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import type { Load } from '../load/start-load.ts'
import { bareRequests, pollRequests } from '../requests.ts'
import { runRounds, type RoundOptions, type Row } from '../rounds.ts'
import { BARE, startBare, startServer } from './request-rows.ts'

export interface AgentsResult {
  readonly agents: number
  readonly poll: Row
  readonly bare: Row
  /** Resident bytes of the server after the polls. */
  readonly rss: number
}

const ORGANIZATIONS = 100
const POLICIES = { policies: 1, rulesPerPolicy: 10, editors: 1 } as const
const PRIME_TIMEOUT_MS = 120_000

/**
 * Measures polls answered 304 by the number of agents that poll in turn, each with its own token,
 * entity tag and last-seen time. An agent holds no connection between two polls, so all agents
 * share the connections of the load.
 */
export async function measureAgents(
  load: Load,
  folder: string,
  agents: number,
  options: RoundOptions & { readonly reads: number },
): Promise<AgentsResult> {
  const directory = join(folder, `agents-${agents}`)
  const devices = agents / ORGANIZATIONS
  const filled = await fillDataDirectory(directory, 'fleet', ORGANIZATIONS, {
    ...POLICIES,
    devices,
  })
  const [server, bare] = [await startServer(directory), await startBare()]
  try {
    await load.ask({ kind: 'define', set: 'bare', requests: bareRequests() })
    await load.ask({ kind: 'define', set: 'first', requests: pollRequests(filled) })
    const { port } = server
    const { connections } = options
    await load.ask({
      kind: 'prime',
      port,
      set: 'first',
      known: 'again',
      connections,
      timeoutMs: PRIME_TIMEOUT_MS,
    })
    const count = options.reads
    const [bareRow, poll] = await runRounds(
      load,
      [
        { name: BARE, server: bare, set: 'bare', expected: 200, count },
        { name: `poll of ${agents}`, server, set: 'again', expected: 304, count },
      ],
      options,
    )
    if (poll === undefined || bareRow === undefined) throw new Error('nothing was measured')
    return { agents, poll, bare: bareRow, rss: server.rss().now }
  } finally {
    await server.stop()
    await bare.stop()
  }
}
