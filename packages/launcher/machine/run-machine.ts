import { join } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import type { Service } from '../process/service.mjs'
import { watchParent } from '../process/watch-parent.mjs'
import type { AgentStatus } from './agent-status.ts'
import { credentialRows, formatBanner } from './banner.ts'
import { claimMachine, type WantedPort } from './claim.ts'
import { ensureEnrolled, foreignEnrolment, readEnrolment } from './enrolment.ts'
import { initOrganization } from './first-organization.ts'
import { startAgent } from './start-agent.ts'
import { startServer, type Surroundings } from './start-server.ts'

type Print = (text: string) => void

const MAX_PORT = 65_535
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs server and agent until a signal comes or one of them ends, and stops both in order. Returns
 * the exit code.
 */
export async function runMachine(given: Surroundings, print: Print): Promise<number> {
  const surroundings = { ...given, env: withDefaultPorts(given.env) }
  const release = await claimMachine(surroundings.dataDir, portsOf(surroundings.env))
  const services: Service[] = []
  const signalled = nextSignal()
  const failed = firstFault()
  // At once, also while services stop: they end with this process.
  const stopWatching = watchParent(() => process.exit(1))
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
    // A start that was under way when the signal came gives up now; its service stops in turn.
    await started.catch(() => {})
    await stopAll(services)
    stopWatching()
    release()
  }
}

/** Notes each service in `services` as soon as it is started. Returns the banner. */
async function startEverything(
  surroundings: Surroundings,
  services: Service[],
  { print, signal }: { print: Print; signal: AbortSignal },
): Promise<string> {
  const { dataDir } = surroundings
  const { org, owner, credentials } = await prepareOrganization(surroundings)
  const note = (service: Service) => {
    services.push(service)
    if (signal.aborted) void service.stop()
  }
  try {
    signal.throwIfAborted()
    const { url } = await startServer(surroundings, note)
    await ensureEnrolled(surroundings, { url, org, owner })
    signal.throwIfAborted()
    const isFresh = (status: AgentStatus) => status.state === 'fresh'
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
 */
async function prepareOrganization(surroundings: Surroundings) {
  const { env } = surroundings
  const enrolled = readEnrolment(surroundings)
  const org = enrolled?.org ?? (env['PALISADE_ORG'] || 'acme')
  const owner = enrolled?.user ?? (env['PALISADE_OWNER'] || 'alice')
  const device = enrolled?.device_id
  const made = await initOrganization(surroundings, { org, owner, device })
  if (made === 'unknown_device') throw foreignEnrolment(surroundings, enrolled)
  return { org, owner, credentials: made === 'not_empty' ? null : made }
}

/** Returns the exit code after a signal; rejects when a service ends by itself. */
async function watch(
  services: readonly Service[],
  signalled: Promise<NodeJS.Signals>,
  print: Print,
): Promise<number> {
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

/** Later signals have no effect: a stop is under way then. */
function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of STOP_SIGNALS) process.on(signal, () => resolve(signal))
  })
}

/**
 * Rejects with the first uncaught exception: a bug must not leave server and agent running on their
 * own.
 */
function firstFault(): Promise<never> {
  return new Promise((_resolve, reject) => {
    process.on('uncaughtException', reject)
  })
}

/** Last started, first stopped: the agent must not see its server vanish. */
async function stopAll(services: readonly Service[]): Promise<void> {
  for (const service of services.toReversed()) await service.stop()
}

function prefixFor({ root, dataDir }: Surroundings): string {
  if (dataDir === join(root, '.palisade')) return ''
  return `PALISADE_DATA_DIR='${dataDir.replaceAll("'", `'\\''`)}' `
}

function withDefaultPorts(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const proxyPort = env['PALISADE_PROXY_PORT'] ?? portBeside(env['PALISADE_PORT'] ?? '8420')
  return { ...env, PALISADE_PROXY_PORT: proxyPort }
}

/** The same at each start, because shells keep it in their variables. Any free one beside 0. */
function portBeside(port: string): string {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0
  if (number === 0 || number > MAX_PORT) return '0'
  return String(number < MAX_PORT ? number + 1 : number - 1)
}

function portsOf(env: NodeJS.ProcessEnv): WantedPort[] {
  const server = { host: env['PALISADE_HOST'] || '127.0.0.1', port: env['PALISADE_PORT'] || '8420' }
  const proxy = { host: '127.0.0.1', port: env['PALISADE_PROXY_PORT'] ?? '' }
  return [
    { ...server, variable: 'PALISADE_PORT' },
    { ...proxy, variable: 'PALISADE_PROXY_PORT' },
  ]
}
