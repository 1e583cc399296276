import { PolicyError, compilePolicy, type Policy } from '@palisade/policy-core'
import { readFile } from 'node:fs/promises'
import { homedir, hostname } from 'node:os'
import { pino } from 'pino'
import type { Agent } from './agent.ts'
import { readConfig } from './host/config/config.ts'
import { lockDirectory } from './host/config/lock-directory.ts'
import { preparePrivateDirectory } from './host/config/private-directory.ts'
import { readParentAccess } from './host/config/read-parent-access.ts'
import { readDeviceKey, readEnrolment } from './sync/enrol/read-enrolment.ts'
import { createContainer } from './container.ts'
import { ensureEnrolled } from './sync/enrol/ensure-enrolled.ts'
import { readMachineAddresses, watchMachineAddresses } from './policy/decision/machine-addresses.ts'
import { denyFileOf, readDenies } from './policy/local-rules/deny-file.ts'
import { loadAdmission } from './local-api/peers.ts'
import { createLogDestination } from './host/agent-log.ts'
import { chooseConnectionLimit } from './proxy/admission/connection-limit.ts'
import { createHttpFetch } from './sync/transport/fetch-over-http.ts'
import { agentVersion } from './host/version.ts'

/**
 * Reads the settings and files that the agent depends on, then starts it. They are checked before
 * any resource is created, except for the enrolment of a machine that has an enrolment token.
 * Returns null when `stop` aborts during that enrolment. Throws `AgentError`.
 */
export async function startAgent(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  stop: AbortSignal,
): Promise<Agent | null> {
  const config = readConfig(env, cwd)
  const { parentProxy } = config
  const parentAccess = parentProxy === null ? null : await readParentAccess(parentProxy)
  const settings = { level: config.logLevel, base: { part: 'agent' } }
  const log = pino(settings, createLogDestination(process.stdout.fd))
  const fetch = createHttpFetch()
  const { now: clock } = Date
  const { random } = Math
  const hostName = hostname()
  if (!(await ensureEnrolled(config, { fetch, log, clock, random, hostName }, stop))) return null
  const enrolment = await readEnrolment(config.enrolmentPath)
  const key = await readDeviceKey(config.enrolmentPath)
  const localPolicies = await readLocal(config.localPoliciesPath)
  await preparePrivateDirectory(config.agentDir)
  const localDenies = await readDenies(denyFileOf(config.agentDir))
  const uptime = (): number => performance.now()
  const machineAddresses = watchMachineAddresses({
    read: readMachineAddresses,
    uptime,
    onError: (err) => log.warn({ err }, 'the addresses of this machine cannot be read'),
  })
  const locking = lockDirectory(config.agentDir)
  const isShared = config.users === 'all'
  // `~` has no one meaning for all users.
  const home = isShared ? null : readHome()
  if (home === null && !isShared)
    log.warn('the home directory is not a canonical path: rules with `~` match nothing')
  const { agent } = createContainer({
    config,
    admit: isShared ? await loadAdmission(process.getuid?.() ?? 0) : undefined,
    parentAccess,
    enrolment,
    key,
    localPolicies,
    localDenies,
    home,
    version: agentVersion(),
    log,
    clock,
    uptime,
    random,
    fetch,
    machineAddresses,
    onError: (err) => log.error({ err }, 'unexpected error'),
    maxConnections: chooseConnectionLimit(await readLimits()),
  })
  // Awaited last, so that all of the above happens while flock(1) runs.
  const lock = await locking
  if (!lock.isHeld)
    log.warn('this machine has no `flock`: a second agent could use the data directory too')
  try {
    await agent.start()
  } catch (error) {
    lock.release()
    throw error
  }
  return { start: agent.start, stop: () => agent.stop().finally(lock.release) }
}

/** Null outside Linux. Node has raised the soft limit to the hard one by then. */
function readLimits(): Promise<string | null> {
  return readFile('/proc/self/limits', 'utf8').catch(() => null)
}

/** Loads the YAML parser only when there is a file to read: it stays in memory. */
async function readLocal(path: string | null): Promise<readonly Policy[]> {
  if (path === null) return []
  const { readLocalPolicies } = await import('./host/config/read-local-policies.ts')
  return readLocalPolicies(path)
}

/** The home directory if policy-core accepts one, or null; `HOME` may hold any text. */
function readHome(): string | null {
  try {
    const home = homedir()
    compilePolicy({ policies: [], home })
    return home
  } catch (error) {
    if (error instanceof PolicyError || isMissing(error)) return null
    throw error
  }
}

/** A user without `HOME` and without an entry in /etc/passwd has no home directory. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR'
}
