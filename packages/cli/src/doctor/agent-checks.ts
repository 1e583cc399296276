import type { AgentStatus } from '@palisade/protocol'
import { formatAge, formatSpan } from '../terminal/age.ts'
import { fail, ok, warn, type Check } from './check.ts'
import { mendServer } from './server-mend.ts'

/** A probe comes every hour. */
const OLD_PROBE_MS = 2 * 3_600_000
/** Clocks that differ by less do no harm. */
const CLOCK_TOLERANCE_MS = 60_000

/** Checks of the agent by its own status. */
export function checkAgent(
  status: AgentStatus,
  {
    version,
    nowMs,
    enrolment,
  }: {
    readonly version: string
    readonly nowMs: number
    /** The file that the agent reads. */
    readonly enrolment: string
  },
): readonly Check[] {
  const mend = mendServer(status, enrolment)
  return [
    checkVersion(status, version),
    checkState(status, mend),
    checkServer(status, nowMs, mend),
    checkHints(status, nowMs, mend),
    checkClock(status, nowMs),
    checkCache(status),
    checkProbe(status, nowMs),
  ]
}

function checkVersion({ agent_version }: AgentStatus, version: string): Check {
  if (agent_version === version) return ok('version', version)
  const detail = `the agent has version ${agent_version}, this command ${version}`
  return warn('version', detail, 'restart the agent after an update')
}

const WORKING: ReadonlySet<AgentStatus['state']> = new Set([
  'stale',
  'rejected',
  'revoked',
  'break_glass',
])

function checkState(status: AgentStatus, mendOfServer: string): Check {
  const { state, bundle } = status
  const revision = bundle === null ? 'no policies' : `revision ${bundle.revision}`
  const detail = `${state}, ${revision}`
  if (state === 'fresh') return ok('policy', detail)
  const mend = mendState(status, mendOfServer)
  return WORKING.has(state) ? warn('policy', detail, mend) : fail('policy', detail, mend)
}

function mendState({ state, sync, enrolment_files = [] }: AgentStatus, server: string): string {
  switch (state) {
    case 'conflict':
      return `remove the wrong one of ${enrolment_files.join(', ')}, then restart the agent`
    case 'unsupported':
      return 'update the agent'
    case 'revoked':
      return server
    default:
      return sync.last_error === null ? 'run `palisade sync`' : server
  }
}

function checkServer({ sync, server, bundle }: AgentStatus, nowMs: number, mend: string): Check {
  const { failing_since, last_error, last_success_at } = sync
  const why = last_error === null ? '' : `: ${last_error.message} (${last_error.code})`
  if (last_success_at === null) {
    const detail = `has not answered since the start of the agent${why}`
    return bundle === null ? fail('server', detail, mend) : warn('server', detail, mend)
  }
  if (failing_since !== null)
    return warn('server', `has failed ${formatSpan(failing_since, nowMs)}${why}`, mend)
  return ok('server', `${server} answered ${formatAge(last_success_at, nowMs)}`)
}

function checkHints({ hints, state, sync }: AgentStatus, nowMs: number, mend: string): Check {
  if (!hints.is_on) return ok('hints', 'off: changes arrive by scheduled polls')
  if (hints.failing_since === null) return ok('hints', 'on')
  const why = hints.last_error === null ? '' : `: ${hints.last_error.message}`
  const detail = `none ${formatSpan(hints.failing_since, nowMs)}${why}`
  // Without the server there are no hints either.
  const isOfServer = state === 'revoked' || sync.last_error !== null
  const own = 'changes arrive by polls; let long requests pass to the server'
  return warn('hints', detail, isOfServer ? mend : own)
}

function checkClock({ sync, bundle }: AgentStatus, nowMs: number): Check {
  const mend = 'set the clock of this machine, such as with `timedatectl set-ntp true`'
  if (sync.awaiting !== null) return fail('clock', 'the clock of this machine was ahead', mend)
  const issuedMs = bundle === null ? NaN : Date.parse(bundle.issued_at)
  if (issuedMs - nowMs > CLOCK_TOLERANCE_MS)
    return fail('clock', 'the policies are signed in the future of this machine', mend)
  return ok('clock', 'agrees with the signed policies')
}

function checkCache({ cache_problem }: AgentStatus): Check {
  if (cache_problem === null) return ok('cache', 'the kept policies could be read')
  return warn('cache', cache_problem.message, 'run `palisade sync`; check the disk')
}

function checkProbe({ probes }: AgentStatus, nowMs: number): Check {
  const probe = probes?.proxy ?? null
  const wait = 'wait some seconds after a start, or update the agent'
  if (probe === null) return warn('self-probe', 'the agent has not tested itself yet', wait)
  if (!probe.ok)
    return fail('self-probe', probe.detail, 'restart the agent; the policy may not be in force')
  const age = formatAge(probe.at, nowMs)
  if (nowMs - Date.parse(probe.at) > OLD_PROBE_MS)
    return warn('self-probe', `the last one passed ${age}`, 'restart the agent')
  return ok('self-probe', `passed ${age}: the policy is in force`)
}
