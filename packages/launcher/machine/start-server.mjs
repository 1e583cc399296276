import { join } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { startService } from '../process/service.mjs'
import { waitUntil } from '../process/wait-until.mjs'
import { bundleOf, SERVER } from '../programs.mjs'

/**
 * What every program of the machine is started with.
 *
 * @typedef {object} Surroundings
 * @property {string} root of the checkout
 * @property {string} dataDir absolute
 * @property {string} cwd
 * @property {string} node
 * @property {NodeJS.ProcessEnv} env
 */

/** @typedef {import('../process/service.mjs').Service & { url: string }} ServerService */

const START_TIMEOUT_MS = 20_000

/**
 * Starts the server and waits until it is ready.
 *
 * @param {Surroundings} surroundings
 * @param {(service: import('../process/service.mjs').Service) => void} onSpawn called at once, so
 *   that the caller can stop what never becomes ready
 * @returns {Promise<ServerService>} `url` is the origin that this machine reaches it under
 */
export async function startServer({ root, dataDir, cwd, node, env }, onSpawn) {
  let url = /** @type {string | null} */ (null)
  const service = startService({
    name: 'server',
    node,
    args: [...SERVER.nodeOptions, join(root, bundleOf(SERVER)), 'start'],
    cwd,
    env: withListeningRecord(env),
    logFile: join(dataDir, 'server.log'),
    onRecord: (record) => {
      if (typeof record['url'] === 'string') url ??= localOrigin(record['url'])
    },
  })
  onSpawn(service)
  await waitUntil(async () => url !== null && (await isReady(url)), service, START_TIMEOUT_MS)
  if (url === null) throw new LaunchError('the server named no address')
  return { ...service, url }
}

/**
 * The origin to dial for a server that listens on every address.
 *
 * @param {string} listening
 * @returns {string | null}
 */
export function localOrigin(listening) {
  if (!URL.canParse(listening)) return null
  const url = new URL(listening)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url.origin
}

/**
 * The server names its address in an `info` record, which a quieter level would hide.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
function withListeningRecord(env) {
  const quieter = ['silent', 'fatal', 'error', 'warn'].includes(env['PALISADE_LOG_LEVEL'] ?? '')
  return quieter ? { ...env, PALISADE_LOG_LEVEL: 'info' } : env
}

/** @param {string} url */
async function isReady(url) {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
