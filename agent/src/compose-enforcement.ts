import { QUESTION_POINT } from '@palisade/protocol'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type AgentEnvironment } from './agent.ts'
import { decideHeld, type OnceGrants } from './grants/access/once-grants.ts'
import { type ActivePolicy } from './policy/decision/active-policy.ts'
import { createDecisionTally, type DecisionTally } from './policy/decision/decision-tally.ts'
import { connectionsOnly } from './local-api/connections-only.ts'
import type { AgentLog } from './host/agent-log.ts'
import { logDecision } from './log-events.ts'
import { createCanaries, type Canaries } from './probe/proxy/canaries.ts'
import type { ProbeResults } from './probe/proxy/probe-results.ts'
import { probeProxy } from './probe/proxy/probe-proxy.ts'
import { createProber, everyHour, type Probed, type Prober } from './probe/proxy/prober.ts'
import { FLUSH_TIMEOUT_MS } from './http/await-flushed.ts'
import type { Dial } from './proxy/target/dial.ts'
import { createProxyAddress } from './proxy/proxy-address.ts'
import { createProxy } from './proxy/proxy.ts'
import { createLiveConnections } from './proxy/admission/live-connections.ts'
import { governWithParent } from './proxy/parent/decide-with-parent.ts'
import {
  createParentProxy,
  type ParentDeps,
  type ParentProxy,
} from './proxy/parent/parent-proxy.ts'
import { createNearMisses } from './proxy/denial/near-misses.ts'
import { recheckOnChange } from './proxy/admission/recheck-on-change.ts'
import type { Resolve, ResolveServices } from './proxy/target/resolver.ts'
import { keepRecords } from './records/keep-records.ts'
import type { RecordedEvent } from './records/recorded-event.ts'
import type { Recorder } from './records/recorder.ts'
import { type SandboxParts } from './compose-sandboxes.ts'
import { createTimetable } from './sync/update/timetable.ts'

export const DIAL_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 10 * 60_000
const BODY_RATE = { bytes: 3_000, windowMs: 30_000 }

/** How the proxy reaches other machines. */
export interface ProxyNetwork {
  readonly resolve: Resolve
  readonly resolveServices: ResolveServices
  readonly dial: Dial
}

/** The proxy with its policy, limits, self-test and records. */
export function composeProxy(
  from: AgentEnvironment,
  shared: {
    readonly network: ProxyNetwork
    readonly active: ActivePolicy
    readonly once: OnceGrants
    /** The trusted time, in epoch milliseconds. */
    readonly now: () => number
    readonly onError: (error: unknown) => void
  },
) {
  const { config, clock, uptime, log } = from
  const { active, network, once, onError } = shared
  const tally = createDecisionTally()
  const address = createProxyAddress()
  const parent = createParent(from, { ...network, isOwnAddress: address.isOwn })
  const governed = parent === null ? active : governWithParent(active, parent)
  const { recorder, kept, ...records } = keepRecords({
    ...from,
    directory: join(config.agentDir, 'records'),
    proxy: address.endpoint,
    now: shared.now,
  })
  const onEvent = takeEvents({
    recorder,
    tally,
    log,
    isProbe: (decision) => canaries.isOwn(decision),
  })
  const canaries = createCanaries()
  const decide = canaries.decide(governed.decide)
  const live = createLiveConnections(
    (request, slot) => decideHeld({ decide, once }, slot, request),
    from.maxConnections,
  )
  recheckOnChange({ ...from, ...shared, live })
  const serving = {
    ...network,
    decide: governed.decide,
    once,
    parent,
    idleMs: IDLE_TIMEOUT_MS,
    flushTimeoutMs: FLUSH_TIMEOUT_MS,
    maxConnections: 2 * from.maxConnections,
    bodyRate: BODY_RATE,
    nearMisses: createNearMisses(active.explain, uptime),
    isOwnAddress: address.isOwn,
    onClient: recorder.notice,
    onEvent,
    onError,
  }
  const proxy = createProxy({
    ...serving,
    address,
    port: config.proxyPort,
    decide,
    resolve: canaries.resolve(network.resolve),
    live,
  })
  const carriesDatagrams = parent === null
  const probe = { canaries, token: createToken, clock, carriesDatagrams }
  const points = [{ ...proxy, probe: () => probeProxy(probe, proxy.describe()) }]
  const policy = config.users === 'all' ? connectionsOnly(governed) : governed
  const recording = { recorder, kept, records, tally }
  return { ...recording, policy, canaries, network, onEvent, parent, points, address, serving }
}

/** Lets the points and a sandbox test themselves. */
export function composeProber(
  { config, clock, random, log }: AgentEnvironment,
  of: {
    readonly points: readonly Probed[]
    readonly canaries: Canaries
    readonly sandboxes: Pick<SandboxParts, 'probe'>
    readonly results: ProbeResults
    readonly onChange: () => void
  },
): Prober {
  const { points, canaries, sandboxes, results, onChange } = of
  const probe = (name: 'sandbox' | 'strict', mode: 'default' | 'strict'): Probed => ({
    name,
    probe: () => sandboxes.probe(mode, { canaries, token: createToken }),
    isCostly: true,
  })
  return createProber({
    points: [
      ...points,
      ...(config.users === 'all' ? [] : [probe('sandbox', 'default'), probe('strict', 'strict')]),
    ],
    results,
    timetable: createTimetable(everyHour(clock), random(), clock),
    onChange,
    log,
  })
}

function createParent(
  from: AgentEnvironment,
  reach: Pick<ParentDeps, 'resolve' | 'dial' | 'isOwnAddress'>,
): ParentProxy | null {
  const { parentAccess: access } = from
  if (access === null) return null
  return createParentProxy({ ...from, ...reach, access, timeoutMs: DIAL_TIMEOUT_MS })
}

/** Records, counts and logs the events of all places that decide. */
function takeEvents(to: {
  readonly recorder: Pick<Recorder, 'record'>
  readonly tally: Pick<DecisionTally, 'add'>
  readonly log: AgentLog
  readonly isProbe: Canaries['isOwn']
}): (event: RecordedEvent) => void {
  return (event) => {
    if (to.isProbe(event.decision)) return
    to.recorder.record(event)
    if (event.flow !== undefined) return
    if (event.point !== QUESTION_POINT) to.tally.add(event.decision)
    logDecision(event.decision, to.log)
  }
}

/** A label of a name, with 122 random bits. */
function createToken(): string {
  return randomUUID().replaceAll('-', '')
}
