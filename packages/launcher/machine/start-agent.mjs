import { join } from 'node:path'
import { startService } from '../process/service.mjs'
import { AGENT, bundleOf } from '../programs.mjs'
import { waitUntil } from '../process/wait-until.mjs'
import { readAgentStatus } from './agent-status.mjs'

/** @typedef {import('../process/service.mjs').Service & { proxy: string,
 *   inForce: import('./banner.mjs').PoliciesInForce | null }} AgentService */

const START_TIMEOUT_MS = 20_000

/**
 * Starts the agent and waits until its status satisfies `ready`.
 *
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @param {(service: import('../process/service.mjs').Service) => void} onSpawn as for `startServer`
 * @param {(status: import('./agent-status.mjs').AgentStatus) => boolean} ready
 * @returns {Promise<AgentService>} `proxy` is the proxy's URL, `inForce` what it enforces when
 * ready
 */
export async function startAgent(surroundings, onSpawn, ready) {
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
  let status = /** @type {import('./agent-status.mjs').AgentStatus | null} */ (null)
  const isReady = async () => {
    status = await readAgentStatus(surroundings)
    return status !== null && ready(status)
  }
  const lastSeen = () => describe(status)
  await waitUntil(isReady, service, START_TIMEOUT_MS, lastSeen)
  const { proxy, bundle } = /** @type {any} */ (status)
  return { ...service, proxy, inForce: bundle }
}

/**
 * @param {import('./agent-status.mjs').AgentStatus | null} status
 */
function describe(status) {
  if (status === null) return ''
  const error = status.sync.last_error
  return error === null ? ` (${status.state})` : ` (${status.state}: ${error.message})`
}
