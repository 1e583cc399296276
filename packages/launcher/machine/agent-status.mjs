import { join } from 'node:path'
import { captureChild } from '../process/capture-child.mjs'

/**
 * The members of the agent's status that we read.
 *
 * @typedef {object} AgentStatus
 * @property {string} state
 * @property {string} proxy
 * @property {{ revision: number, policies: number, rules: number } | null} bundle
 * @property {{ failing_since: string | null, last_error: { code: string, message: string } | null
 * }} sync
 * @property {{ file: string, message: string } | null} cache_problem
 */

/**
 * Runs the palisade command as a person would.
 *
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @param {readonly string[]} args
 * @param {string} [input]
 */
export function runPalisade({ root, cwd, node, env }, args, input = '') {
  const main = join(root, 'packages', 'cli', 'dist', 'main.js')
  return captureChild(node, [main, ...args], { cwd, env, input })
}

/**
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @returns {Promise<AgentStatus | null>} null while no agent answers
 */
export async function readAgentStatus(surroundings) {
  const run = await runPalisade(surroundings, ['status', '--json'])
  try {
    const value = JSON.parse(run.stdout)
    return typeof value === 'object' && value !== null && 'state' in value ? value : null
  } catch {
    return null
  }
}
