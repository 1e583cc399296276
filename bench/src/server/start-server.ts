import { join } from 'node:path'
import { bundleOf, SERVER } from '../../../packages/launcher/programs.mjs'
import { askHttp } from '../process/ask-http.ts'
import { freePort } from '../process/free-port.ts'
import { startProcess, type MeasuredProcess } from '../process/start-process.ts'

/** A server on a port of its own. */
export interface RunningServer extends MeasuredProcess {
  readonly port: number
}

/** The bundle of the released server. */
const MAIN = join(import.meta.dirname, '../../..', bundleOf(SERVER))
const SINGLE = join(import.meta.dirname, 'single-commit-server.ts')
const BARE = join(import.meta.dirname, 'bare-server.ts')

/** Settings of every measured server, in addition to its data directory. */
const SETTINGS = {
  ...SERVER.environment,
  // Access logs would add the same cost to each request and blur the comparison.
  PALISADE_LOG_LEVEL: 'warn',
  PALISADE_ACCESS_TOKEN_MINUTES: '60',
} as const

/** Starts the server as it ships. */
export function startServer(
  dataDir: string,
  settings: Readonly<Record<string, string>> = {},
  nodeOptions: readonly string[] = [],
): Promise<RunningServer> {
  const env = { ...SETTINGS, PALISADE_DATA_DIR: dataDir, ...settings }
  return start([...SERVER.nodeOptions, ...nodeOptions, MAIN, 'start'], env, '/readyz')
}

/** Starts the server with a store that commits one request at a time. */
export function startSingle(dataDir: string): Promise<RunningServer> {
  const env = { ...SETTINGS, PALISADE_DATA_DIR: dataDir }
  return start([...SERVER.nodeOptions, SINGLE], env, '/readyz')
}

/** Starts the bare reply. */
export function startBare(): Promise<RunningServer> {
  return start([BARE], {}, '/')
}

async function start(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  path: string,
): Promise<RunningServer> {
  const port = await freePort()
  const isReady = async (): Promise<boolean> =>
    (await askHttp({ host: '127.0.0.1', port, path }))?.status === 200
  const all = { ...env, PALISADE_PORT: String(port) }
  return { port, ...(await startProcess(process.execPath, args, all, isReady)) }
}

/** Stops all of them after the work. */
export async function withServers<Name extends string, T>(
  servers: Readonly<Record<Name, RunningServer>>,
  work: (servers: Readonly<Record<Name, RunningServer>>) => Promise<T>,
): Promise<T> {
  try {
    return await work(servers)
  } finally {
    for (const server of Object.values<RunningServer>(servers)) await server.stop()
  }
}
