import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname as nameOfHost } from 'node:os'
import { join, resolve } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { runServerCommand } from './first-organization.mjs'

/** @typedef {import('./start-server.mjs').Surroundings} Surroundings */

/**
 * The members of the machine's enrolment that we read.
 *
 * @typedef {object} Enrolment
 * @property {string} server
 * @property {string} org
 * @property {string | null} user
 * @property {string} device_id
 */

/**
 * Where the agent reads its enrolment: it obeys PALISADE_ENROLMENT, and so must we.
 *
 * @param {Pick<Surroundings, 'dataDir' | 'cwd' | 'env'>} surroundings
 */
export function enrolmentFile({ dataDir, cwd, env }) {
  const given = env['PALISADE_ENROLMENT'] || ''
  return given === '' ? join(dataDir, 'agent', 'enrolment.json') : resolve(cwd, given)
}

/**
 * @param {Surroundings} surroundings
 * @returns {Enrolment | null} null when the machine is not enrolled
 */
export function readEnrolment(surroundings) {
  const file = enrolmentFile(surroundings)
  try {
    const value = JSON.parse(readFileSync(file, 'utf8'))
    if (['server', 'org', 'device_id'].every((name) => typeof value?.[name] === 'string'))
      return value
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
  }
  throw new LaunchError(`\`${file}\` cannot be read as an enrolment; remove it to enrol again`, 78)
}

/**
 * The refusal to use a machine that another server has enrolled: it must stay with that server.
 *
 * @param {Surroundings} surroundings
 * @param {Enrolment | null} enrolment
 */
export function foreignEnrolment(surroundings, enrolment) {
  const file = enrolmentFile(surroundings)
  return new LaunchError(
    `this machine is enrolled to organization \`${enrolment?.org}\` at \`${enrolment?.server}\` ` +
      `in \`${file}\`, ` +
      'which `npm start` did not make; start its agent with `npm run -s palisade-agent -- start`, ' +
      'or set PALISADE_DATA_DIR to a directory of its own',
    78,
  )
}

/**
 * Ensures that the machine is enrolled to its own server, also when that moved to another port.
 * The caller has verified that the server made the enrolment.
 *
 * @param {Surroundings} surroundings
 * @param {{ url: string, org: string, owner: string }} server
 * @returns {Promise<Enrolment>}
 */
export async function ensureEnrolled(surroundings, { url, org, owner }) {
  const file = enrolmentFile(surroundings)
  const known = readEnrolment(surroundings)
  if (known === null) {
    const args = ['device', 'enrol', '--org', org, '--user', owner, '--server', url, '--out', file]
    const name = nameOfHost()
    // The server refuses unprintable names; such a host is enrolled without one.
    if (/^[\w.-]{1,64}$/.test(name)) args.push(`--name=${name}`)
    await runServerCommand(surroundings, args)
    return /** @type {Enrolment} */ (readEnrolment(surroundings))
  }
  if (known.server === url || !isMovedPort(known.server, url)) return known
  const moved = { ...known, server: url }
  replaceFile(file, `${JSON.stringify(moved, null, 2)}\n`)
  return moved
}

/**
 * A public address, such as that of a proxy before the server, was chosen by a person and stays.
 *
 * @param {string} known
 * @param {string} url
 */
function isMovedPort(known, url) {
  return isLoopback(known) || new URL(known).hostname === new URL(url).hostname
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
