import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { runServerCommand } from './first-organization.mjs'

/**
 * The members of the machine's token file that we read.
 *
 * @typedef {object} Enrolment
 * @property {string} server
 * @property {string} org
 * @property {string | null} user
 */

/** @param {string} dataDir */
export function enrolmentFile(dataDir) {
  return join(dataDir, 'agent', 'enrolment.json')
}

/**
 * @param {string} dataDir
 * @returns {Enrolment | null} null when the machine is not enrolled
 */
export function readEnrolment(dataDir) {
  const file = enrolmentFile(dataDir)
  try {
    const value = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof value?.server === 'string' && typeof value?.org === 'string') return value
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
  }
  throw new LaunchError(`\`${file}\` cannot be read as an enrolment; remove it to enrol anew`, 78)
}

/**
 * The same, refusing an enrolment to a server elsewhere: that one is left alone.
 *
 * @param {string} dataDir
 * @returns {Enrolment | null}
 */
export function readOwnEnrolment(dataDir) {
  const known = readEnrolment(dataDir)
  if (known === null || isLoopback(known.server)) return known
  throw new LaunchError(
    `the machine is enrolled to \`${known.server}\` in \`${enrolmentFile(dataDir)}\`; set PALISADE_DATA_DIR to another directory`,
    78,
  )
}

/**
 * Sees to it that the machine is enrolled to its own server, also when that moved to another port.
 *
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @param {{ url: string, org: string, owner: string }} server
 * @returns {Promise<Enrolment>}
 */
export async function ensureEnrolled(surroundings, { url, org, owner }) {
  const file = enrolmentFile(surroundings.dataDir)
  const known = readOwnEnrolment(surroundings.dataDir)
  if (known?.server === url) return known
  if (known === null) {
    const args = ['device', 'enrol', '--org', org, '--user', owner, '--server', url, '--out', file]
    await runServerCommand(surroundings, args)
    return /** @type {Enrolment} */ (readEnrolment(surroundings.dataDir))
  }
  const moved = { ...known, server: url }
  replaceFile(file, `${JSON.stringify(moved, null, 2)}\n`)
  return moved
}

/** @param {string} server */
function isLoopback(server) {
  if (!URL.canParse(server)) return false
  const { hostname } = new URL(server)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname)
}

/**
 * @param {string} file
 * @param {string} text
 */
function replaceFile(file, text) {
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
  renameSync(draft, file)
}
