import { join } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { startService, type Service } from '../process/service.mjs'
import { waitUntil } from '../process/wait-until.mjs'
import { bundleOf, SERVER } from '../programs.mjs'

/** The place and the settings that every program of the machine is started with. */
export interface Surroundings {
  /** Of the checkout. */
  readonly root: string
  /** Absolute. */
  readonly dataDir: string
  readonly cwd: string
  readonly node: string
  readonly env: NodeJS.ProcessEnv
}

export interface ServerService extends Service {
  /** The origin under which this machine reaches it. */
  readonly url: string
}

const START_TIMEOUT_MS = 20_000

/**
 * Starts the server and waits until it is ready. Calls `onSpawn` at once, so that the caller can
 * stop a server that never becomes ready.
 */
export async function startServer(
  { root, dataDir, cwd, node, env }: Surroundings,
  onSpawn: (service: Service) => void,
): Promise<ServerService> {
  let url = null as string | null
  const service = startService({
    name: 'server',
    node,
    args: [...SERVER.nodeOptions, join(root, bundleOf(SERVER)), 'start'],
    cwd,
    env: { ...SERVER.environment, ...withListeningRecord(env) },
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

/** The origin to dial for a server that listens on every address; null for no URL. */
export function localOrigin(listening: string): string | null {
  if (!URL.canParse(listening)) return null
  const url = new URL(listening)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url.origin
}

/** The server names its address in an `info` record, which a quieter level would hide. */
function withListeningRecord(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const quieter = ['silent', 'fatal', 'error', 'warn'].includes(env['PALISADE_LOG_LEVEL'] ?? '')
  return quieter ? { ...env, PALISADE_LOG_LEVEL: 'info' } : env
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
