import { join } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { credentialRows, formatBanner } from './banner.mjs'
import { claimMachine } from './claim.mjs'
import { ensureEnrolled, foreignEnrolment, readEnrolment } from './enrolment.mjs'
import { initOrganization } from './first-organization.mjs'
import { startAgent } from './start-agent.mjs'
import { startServer } from './start-server.mjs'

/** @typedef {import('../process/service.mjs').Service} Service */

const STOP_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * Runs server and agent until a signal comes or one of them ends, and stops both in order.
 *
 * @param {import('./start-server.mjs').Surroundings} given
 * @param {(text: string) => void} print
 * @returns {Promise<number>} exit code
 */
export async function runMachine(given, print) {
  const surroundings = { ...given, env: withDefaultPorts(given.env) }
  const release = await claimMachine(surroundings.dataDir, portsOf(surroundings.env))
  const services = /** @type {Service[]} */ ([])
  const signalled = nextSignal()
  const failed = firstFault()
  const stopping = new AbortController()
  const control = { print, signal: stopping.signal }
  const started = startEverything(surroundings, services, control)
  const serve = async () => {
    const first = await Promise.race([signalled.then(() => null), started])
    if (first === null) return 0
    print(first)
    return watch(services, signalled, print)
  }
  try {
    return await Promise.race([serve(), failed])
  } finally {
    stopping.abort(new LaunchError('stopped'))
    await stopAll(services)
    // What was being started when the signal came gives up now, and is stopped in its turn.
    await started.catch(() => {})
    await stopAll(services)
    release()
  }
}

/**
 * @param {import('./start-server.mjs').Surroundings} surroundings
 * @param {Service[]} services where everything that was started is noted
 * @param {{ print: (text: string) => void, signal: AbortSignal }} control
 */
async function startEverything(surroundings, services, { print, signal }) {
  const { dataDir } = surroundings
  const { org, owner, credentials } = await prepareOrganization(surroundings)
  /** @param {Service} service */
  const note = (service) => {
    services.push(service)
    if (signal.aborted) void service.stop()
  }
  try {
    signal.throwIfAborted()
    const { url } = await startServer(surroundings, note)
    await ensureEnrolled(surroundings, { url, org, owner })
    signal.throwIfAborted()
    const isFresh = (/** @type {import('./agent-status.mjs').AgentStatus} */ status) =>
      status.state === 'fresh'
    const { proxy, inForce } = await startAgent(surroundings, note, isFresh)
    const dataPrefix = prefixFor(surroundings)
    return formatBanner({ url, proxy, org, owner, dataDir, dataPrefix, inForce, credentials })
  } catch (error) {
    const rows = credentials === null ? [] : credentialRows(credentials)
    for (const [label, value] of rows) print(`  ${label.padEnd(14)}${value}\n`)
    throw error
  }
}

/**
 * The organization of this machine, made when the store is empty; refuses a machine that another
 * server has enrolled.
 *
 * @param {import('./start-server.mjs').Surroundings} surroundings
 */
async function prepareOrganization(surroundings) {
  const { env } = surroundings
  const enrolled = readEnrolment(surroundings)
  const org = enrolled?.org ?? (env['PALISADE_ORG'] || 'acme')
  const owner = enrolled?.user ?? (env['PALISADE_OWNER'] || 'alice')
  const device = enrolled?.device_id
  const made = await initOrganization(surroundings, { org, owner, device })
  if (made === 'unknown_device') throw foreignEnrolment(surroundings, enrolled)
  return { org, owner, credentials: made === 'not_empty' ? null : made }
}

/**
 * @param {readonly Service[]} services
 * @param {Promise<NodeJS.Signals>} signalled
 * @param {(text: string) => void} print
 */
async function watch(services, signalled, print) {
  const ends = services.map(async (service) => ({ service, code: await service.exited }))
  const first = await Promise.race([signalled, ...ends])
  if (typeof first === 'string') {
    print('\nstopping …\n')
    return 0
  }
  const { service, code } = first
  const said = service.complaint() || `see ${service.logFile}`
  throw new LaunchError(
    `the ${service.name} ended by itself (${code}): ${said}`,
    code === 0 ? 1 : code,
  )
}

/** @returns {Promise<NodeJS.Signals>} later signals change nothing: a stop is under way then */
function nextSignal() {
  return new Promise((resolve) => {
    for (const signal of STOP_SIGNALS) process.on(signal, () => resolve(signal))
  })
}

/**
 * A bug must not leave server and agent running on their own.
 *
 * @returns {Promise<never>} rejects with the first uncaught exception
 */
function firstFault() {
  return new Promise((_resolve, reject) => {
    process.on('uncaughtException', reject)
  })
}

/**
 * Last started, first stopped: the agent must not see its server vanish.
 *
 * @param {readonly Service[]} services
 */
async function stopAll(services) {
  for (const service of [...services].reverse()) await service.stop()
}

/** @param {import('./start-server.mjs').Surroundings} surroundings */
function prefixFor({ root, dataDir }) {
  if (dataDir === join(root, '.palisade')) return ''
  return `PALISADE_DATA_DIR='${dataDir.replaceAll("'", `'\\''`)}' `
}

/** @param {NodeJS.ProcessEnv} env */
function withDefaultPorts(env) {
  const proxyPort =
    env['PALISADE_PROXY_PORT'] ?? (env['PALISADE_PORT'] === undefined ? '8421' : '0')
  return { ...env, PALISADE_PROXY_PORT: proxyPort }
}

/** @param {NodeJS.ProcessEnv} env */
function portsOf(env) {
  const server = { host: env['PALISADE_HOST'] || '127.0.0.1', port: env['PALISADE_PORT'] || '8420' }
  const proxy = { host: '127.0.0.1', port: env['PALISADE_PROXY_PORT'] ?? '' }
  return [
    { ...server, variable: 'PALISADE_PORT' },
    { ...proxy, variable: 'PALISADE_PROXY_PORT' },
  ]
}
