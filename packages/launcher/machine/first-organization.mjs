import { existsSync } from 'node:fs'
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
 * Creates the organization and its owner on an empty store. For a machine that is enrolled already,
 * creates nothing unless the store knows that device.
 *
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @param {{ org: string, owner: string, device?: string | undefined }} names
 * @returns {Promise<Credentials | 'not_empty' | 'unknown_device'>}
 */
export async function initOrganization(surroundings, { org, owner, device }) {
  const { dataDir, env } = surroundings
  const inDirectory = (env['DATABASE_URL'] || '') === ''
  if (device !== undefined && inDirectory && !existsSync(join(dataDir, 'server.db')))
    return 'unknown_device'
  const args = ['init', '--org', org, '--owner', owner, '--json', '--if-empty']
  if (device !== undefined) args.push('--device', device)
  const run = await captureServer(surroundings, args)
  const answer = run.stdout.trim() === '' ? null : JSON.parse(run.stdout)
  if (answer?.outcome === 'unknown_device') return 'unknown_device'
  requireSuccess(run, args)
  return answer ?? 'not_empty'
}

/**
 * Runs a command of palisade-server; a failure is passed on as the command told it.
 *
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @param {readonly string[]} args
 */
export async function runServerCommand(surroundings, args) {
  const run = await captureServer(surroundings, args)
  requireSuccess(run, args)
  return run
}

/**
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @param {readonly string[]} args
 */
function captureServer({ root, cwd, node, env }, args) {
  return captureChild(node, [join(root, bundleOf(SERVER)), ...args], { cwd, env })
}

/**
 * @param {{ code: number, stderr: string }} run
 * @param {readonly string[]} args
 */
function requireSuccess({ code, stderr }, [command]) {
  if (code === 0) return
  throw new LaunchError(stderr.trim() || `palisade-server ${command} ended with ${code}`, code)
}
