import { randomUUID } from 'node:crypto'
import type { AgentEnvironment } from '../agent.ts'
import type { EnforcementPoint } from '../enforcement/enforcement-point.ts'
import { decideHeld, type OnceGrants } from '../grants/access/once-grants.ts'
import { FLUSH_TIMEOUT_MS } from '../http/await-flushed.ts'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import type { Canaries } from '../probe/proxy/canaries.ts'
import type { ProbeResults } from '../probe/proxy/probe-results.ts'
import { probeProxy } from '../probe/proxy/probe-proxy.ts'
import { createProber, everyHour, type Probed, type Prober } from '../probe/proxy/prober.ts'
import { createLiveConnections } from '../proxy/admission/live-connections.ts'
import { recheckOnChange } from '../proxy/admission/recheck-on-change.ts'
import { createNearMisses } from '../proxy/denial/near-misses.ts'
import { governWithParent } from '../proxy/parent/decide-with-parent.ts'
import { createParentProxy } from '../proxy/parent/parent-proxy.ts'
import type { ProxyAddress } from '../proxy/proxy-address.ts'
import { createProxy } from '../proxy/proxy.ts'
import type { Dial } from '../proxy/target/dial.ts'
import type { Resolve, ResolveServices } from '../proxy/target/resolver.ts'
import type { RecordedEvent } from '../records/recorded-event.ts'
import type { Recorder } from '../records/recorder.ts'
import type { SandboxEnvironment } from '../sandbox/sandbox-environment.ts'
import { createTimetable } from '../sync/update/timetable.ts'
import type { SandboxParts } from './compose-sandboxes.ts'

export const DIAL_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 10 * 60_000
const BODY_RATE = { bytes: 3_000, windowMs: 30_000 }
/** Requests, tunnels and UDP conversations of one sandbox at once. */
const SANDBOX_SLOTS = 1_024

export type Enforcement = ReturnType<typeof composeEnforcement>

/** Composes the proxy and the network of sandboxes, which decide with the same policy. */
export function composeEnforcement(
  environment: AgentEnvironment,
  given: {
    readonly address: ProxyAddress
    readonly active: ActivePolicy
    readonly once: OnceGrants
    readonly canaries: Canaries
    readonly resolve: Resolve
    readonly resolveServices: ResolveServices
    readonly dial: Dial
    readonly recorder: Pick<Recorder, 'notice'>
    readonly onEvent: (event: RecordedEvent) => void
  },
) {
  const { config, parentAccess, machineAddresses, clock, uptime, log, onError } = environment
  const { address, active, once, canaries, resolve, dial, recorder, onEvent } = given
  const isOwnAddress = address.isOwn
  const maxConnections = 2 * environment.maxConnections

  const parent =
    parentAccess &&
    createParentProxy({
      access: parentAccess,
      resolve,
      dial,
      isOwnAddress,
      machineAddresses,
      timeoutMs: DIAL_TIMEOUT_MS,
      clock,
      uptime,
    })
  const governed = parent === null ? active : governWithParent(active, parent)
  const nearMisses = createNearMisses(active.explain, uptime)
  const decide = canaries.decide(governed.decide)
  const live = createLiveConnections(
    (request, slot) => decideHeld({ decide, once }, slot, request),
    environment.maxConnections,
  )
  recheckOnChange({ active, live, uptime, log, onError })
  const proxy = createProxy({
    address,
    port: config.proxyPort,
    decide,
    once,
    live,
    resolve: canaries.resolve(resolve),
    dial,
    parent,
    nearMisses,
    maxConnections,
    idleMs: IDLE_TIMEOUT_MS,
    flushTimeoutMs: FLUSH_TIMEOUT_MS,
    bodyRate: BODY_RATE,
    onClient: recorder.notice,
    onEvent,
    onError,
  })
  const sandboxNetwork: SandboxEnvironment['network'] = {
    active,
    decide: governed.decide,
    once,
    maxSlots: SANDBOX_SLOTS,
    resolve,
    resolveServices: given.resolveServices,
    dial,
    parent,
    isOwnAddress,
    nearMisses,
    maxConnections,
    idleMs: IDLE_TIMEOUT_MS,
    flushTimeoutMs: FLUSH_TIMEOUT_MS,
    bodyRate: BODY_RATE,
    uptime,
    log,
    onClient: recorder.notice,
    onEvent,
    onError,
  }
  const probe = { canaries, token: createToken, clock, carriesDatagrams: parent === null }
  const points: EnforcementPoint[] = [proxy]
  const probed: Probed[] = [{ name: 'proxy', probe: () => probeProxy(probe, proxy.describe()) }]
  return { parent, governed, points, probed, isOwnAddress, sandboxNetwork }
}

/** Lets the points test themselves, and sandboxes where the agent makes some. */
export function composeProber(
  { config, clock, random, log }: AgentEnvironment,
  given: {
    readonly probed: readonly Probed[]
    readonly canaries: Canaries
    readonly sandboxes: Pick<SandboxParts, 'probe'>
    readonly results: ProbeResults
    readonly onChange: () => void
  },
): Prober {
  const { probed, canaries, sandboxes, results, onChange } = given
  const probeOf = (name: 'sandbox' | 'strict', mode: 'default' | 'strict'): Probed => ({
    name,
    probe: () => sandboxes.probe(mode, { canaries, token: createToken }),
    isCostly: true,
  })
  const modes = [probeOf('sandbox', 'default'), probeOf('strict', 'strict')]
  const points = config.users === 'all' ? probed : probed.concat(modes)
  const timetable = createTimetable(everyHour(clock), random(), clock)
  return createProber({ points, results, timetable, onChange, log })
}

/** A label of a name, with 122 random bits. */
function createToken(): string {
  return randomUUID().replaceAll('-', '')
}
