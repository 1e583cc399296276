import { join } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { captureChild } from '../process/capture-child.mjs'
import { bundleOf, SERVER } from '../programs.mjs'

/**
 * What `palisade-server init` prints, once.
 *
 * @typedef {object} Credentials
 * @property {string} org
 * @property {string} username
 * @property {string} password
 * @property {string} personal_token
 */

/**
 * Creates the organization and its owner on an empty store.
 *
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @param {{ org: string, owner: string }} names
 * @returns {Promise<Credentials | null>} null when there is an organization already
 */
export async function initOrganization(surroundings, { org, owner }) {
  const args = ['init', '--org', org, '--owner', owner, '--json', '--if-empty']
  const { stdout } = await runServerCommand(surroundings, args)
  return stdout.trim() === '' ? null : JSON.parse(stdout)
}

/**
 * Runs a command of palisade-server; a failure is passed on as the command told it.
 *
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @param {readonly string[]} args
 */
export async function runServerCommand({ root, cwd, node, env }, args) {
  const main = join(root, bundleOf(SERVER))
  const run = await captureChild(node, [main, ...args], { cwd, env })
  if (run.code !== 0) {
    const said = run.stderr.trim() || `palisade-server ${args[0]} ended with ${run.code}`
    throw new LaunchError(said, run.code)
  }
  return run
}
