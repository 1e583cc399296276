import { join } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { startService, type Service } from '../process/service.mjs'
import { waitUntil } from '../process/wait-until.mjs'
import { AGENT, bundleOf } from '../programs.mjs'
import { readAgentStatus, type AgentStatus, type PoliciesInForce } from './agent-status.ts'
import type { Surroundings } from './start-server.ts'

export interface AgentService extends Service {
  /** URL of its proxy. */
  readonly proxy: string
  /** The policies that it enforces when it is ready. */
  readonly inForce: PoliciesInForce | null
}

const START_TIMEOUT_MS = 20_000

/**
 * Starts the agent and waits until its status satisfies `ready`. Calls `onSpawn` at once, as
 * `startServer` does.
 */
export async function startAgent(
  surroundings: Surroundings,
  onSpawn: (service: Service) => void,
  ready: (status: AgentStatus) => boolean,
): Promise<AgentService> {
  const { root, dataDir, cwd, node, env } = surroundings
  const service = startService({
    name: 'agent',
    node,
    args: [...AGENT.nodeOptions, join(root, bundleOf(AGENT)), 'start'],
    cwd,
    env,
    logFile: join(dataDir, 'agent.log'),
  })
  onSpawn(service)
  let status = null as AgentStatus | null
  const isReady = async () => {
    status = await readAgentStatus(surroundings)
    return status !== null && ready(status)
  }
  const lastSeen = () => describe(status)
  await waitUntil(isReady, service, START_TIMEOUT_MS, lastSeen)
  if (status === null) throw new LaunchError('the agent showed no status')
  return { ...service, proxy: status.proxy, inForce: status.bundle }
}

function describe(status: AgentStatus | null): string {
  if (status === null) return ''
  const error = status.sync.last_error
  return error === null ? ` (${status.state})` : ` (${status.state}: ${error.message})`
}
