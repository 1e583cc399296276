// Imported first: tsyringe throws on import without `Reflect.getMetadata`.
import '@abraham/reflection'
import type { Assurance, ProbeResult } from '@palisade/protocol'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { container as root, type DependencyContainer, type InjectionToken } from 'tsyringe'
import { createAgent, type Agent, type AgentSurroundings } from './agent.ts'
import { answerBreakGlass } from './break-glass/answer-break-glass.ts'
import { createBreakGlass } from './break-glass/break-glass.ts'
import { createActivePolicy, type ActivePolicy } from './decision/active-policy.ts'
import { createDecisionTally, type DecisionTally } from './decision/decision-tally.ts'
import { controlPlane } from './decision/offline.ts'
import { createConflictCheck } from './enrol/second-enrolment.ts'
import { HINTS_OFF, listenForHints } from './hint/hint-listener.ts'
import { connectionsOnly } from './local-api/connections-only.ts'
import { describeAgent } from './local-api/agent-status.ts'
import { listPolicies } from './local-api/list-policies.ts'
import { denyFileOf } from './local-rules/deny-file.ts'
import { denyPolicies } from './local-rules/deny-policies.ts'
import { createLocalRules } from './local-rules/local-rules.ts'
import { createLocalApi } from './local-api/local-api.ts'
import type { QuestionDeps } from './local-api/routes.ts'
import { logDecision, logOutcomes, logStates, type AgentLog } from './agent-log.ts'
import { assess } from './points/assurance.ts'
import { createCanaries, type Canaries } from './points/probe/canaries.ts'
import { probeProxy } from './points/probe/probe-proxy.ts'
import { createProber, everyHour, type Probed, type Prober } from './points/probe/prober.ts'
import { FLUSH_TIMEOUT_MS } from './http/await-flushed.ts'
import { decideAsAsked } from './local-api/decide-as-proxy.ts'
import { endOf } from './programs/program-end.ts'
import { createDial, type Dial } from './proxy/target/dial.ts'
import { createProxy, type Proxy } from './proxy/proxy.ts'
import { createLiveConnections } from './proxy/admission/live-connections.ts'
import { governWithParent } from './proxy/parent/decide-with-parent.ts'
import {
  createParentProxy,
  type ParentDeps,
  type ParentProxy,
} from './proxy/parent/parent-proxy.ts'
import { createNearMisses } from './proxy/denial/near-misses.ts'
import { recheckOnChange } from './proxy/admission/recheck-on-change.ts'
import { createResolver, type Resolve } from './proxy/target/resolver.ts'
import { keepRecords } from './records/keep-records.ts'
import type { RecordedEvent } from './records/recorded-event.ts'
import type { Recorder } from './records/recorder.ts'
import { reportToServer } from './report/report-to-server.ts'
import { createServeSandboxApi } from './sandbox/api/sandbox-api.ts'
import {
  composeSandboxes,
  refuseSandboxes,
  type SandboxParts,
} from './sandbox/compose-sandboxes.ts'
import { createTrustedClock } from './state/trusted-clock.ts'
import { createSelfTestMemory } from './sync/state/self-test-memory.ts'
import { createStateStore } from './sync/state/state-store.ts'
import { fetchAsDevice } from './sync/transport/fetch-file.ts'
import { answerSync } from './sync/update/answer-sync.ts'
import { createPoller } from './sync/update/poller.ts'
import { createSynchronizer, type CacheProblem } from './sync/update/synchronizer.ts'
import { createSchedule, createTimetable } from './sync/update/timetable.ts'
import { createViewChannel } from './sync/update/view-channel.ts'

const RESOLVE_TIMEOUT_MS = 5_000
const DIAL_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 10 * 60_000
/** Requests, tunnels and UDP conversations of one sandbox at once. */
const SANDBOX_SLOTS = 1_024
const BODY_RATE = { bytes: 3_000, windowMs: 30_000 }

/** Network access of the proxy; tests may replace these parts. */
export const RESOLVE: InjectionToken<Resolve> = Symbol('Resolve')
export const DIAL: InjectionToken<Dial> = Symbol('Dial')

export function createParts({ config }: Pick<AgentSurroundings, 'config'>): DependencyContainer {
  const parts = root.createChildContainer()
  parts.register(RESOLVE, { useValue: createResolver(config.dnsServers, RESOLVE_TIMEOUT_MS) })
  parts.register(DIAL, { useValue: createDial(DIAL_TIMEOUT_MS) })
  return parts
}

/** Composes the agent. No resource is opened before `start`. */
export function createContainer(
  from: AgentSurroundings,
  parts: DependencyContainer = createParts(from),
): { readonly agent: Agent } {
  const { config, enrolment, clock, uptime, random, log } = from
  const onError = (err: unknown): void => log.error({ err }, 'unexpected error')
  const startedAtMs = clock()
  const isShared = config.users === 'all'
  let cacheProblem: CacheProblem | null = null

  const time = createTrustedClock({ wall: clock, uptime })
  const control = controlPlane(enrolment.server)
  const localPolicies = [...from.localPolicies, ...denyPolicies(from.localDenies)]
  const active = createActivePolicy({ ...from, localPolicies, clock: time, controlPlane: control })
  logStates(active, log)
  const shared = { ...from, active, onError }

  const fetchFile = fetchAsDevice({ ...from, now: time.now })
  const directory = join(config.agentDir, 'policy')
  const store = createStateStore(directory)
  const channel = createViewChannel({ enrolment, store, fetchFile, clock: time })
  const selfTests = createSelfTestMemory({ ...from, directory })
  const synchronizer = createSynchronizer({ ...shared, channel, selfTests, org: enrolment.org })
  const checkConflict = createConflictCheck(config, enrolment, active)
  const poller = createPoller({
    run: (...asked) => checkConflict().then(() => synchronizer.run(...asked)),
    timetable: createTimetable(createSchedule(config.syncSchedule, clock), random(), clock),
    clock,
    onError,
  })
  logOutcomes(poller, log)
  const { inTurn } = poller
  const breakGlass = createBreakGlass({ ...shared, channel, store, clock: time, inTurn })
  const { record } = synchronizer
  const probes: Prober['results'] = () => prober.results()
  const assurance = (): Assurance => assess(prober.results(), { nowMs: clock(), isShared })
  const reporter = reportToServer({ ...shared, breakGlass, record, probes, assurance, fetchFile })
  poller.subscribe(reporter.notice)
  const hints = config.hints ? listenForHints({ ...from, fetchFile, poller, reporter }) : null

  const enforcement = composeProxy(from, parts, { active, now: time.now, onError })
  const { proxy, parent, points, onEvent, recorder, records, tally } = enforcement
  const { network, asked } = enforcement
  const counted = { tally, recorder, points }
  const described = { ...shared, ...counted, startedAtMs, breakGlass, synchronizer, poller }
  const answers: Pick<QuestionDeps, 'status' | 'policies' | 'log' | 'flushTimeoutMs'> = {
    ...records,
    status: () =>
      describeAgent({
        ...described,
        prober,
        assurance,
        parent,
        hints: hints?.status() ?? HINTS_OFF,
        cacheProblem,
      }),
    policies: () => listPolicies(active),
    flushTimeoutMs: FLUSH_TIMEOUT_MS,
  }
  const asking = { ...shared, ...network, active: asked, onEvent, isSelf: proxy.isSelf }
  const sandboxes = composeSandboxes({
    ...shared,
    agentDir: config.agentDir,
    socketPath: config.socketPath,
    serveApi: createServeSandboxApi({ ...asking, ...answers }),
    network: { ...shared, ...enforcement.serving, maxSlots: SANDBOX_SLOTS },
  })
  const prober = composeProber(from, { ...enforcement, sandboxes, onChange: reporter.notice })
  const localApi = createLocalApi({
    ...decideAsAsked(asking),
    ...answers,
    verifyLog: records.verifyLog,
    ...answerSync({ ...shared, synchronizer, poller }),
    ...createLocalRules({ ...shared, denies: from.localDenies, file: denyFileOf(config.agentDir) }),
    ...answerBreakGlass({ breakGlass, poller, log }),
    startSandbox: isShared ? refuseSandboxes : sandboxes.startSandbox,
    sandboxLimits: sandboxes.limits,
    staged: sandboxes.staged,
    admit: from.admit,
    onError,
  })
  const agent = createAgent({
    localApi,
    socketPath: config.socketPath,
    users: config.users,
    points,
    sandboxes,
    recorder,
    prober,
    active,
    now: time.now,
    uptime,
    breakGlass,
    poller,
    reporter,
    hints,
    synchronizer: {
      keepTime: synchronizer.keepTime,
      // Checked before any policy is in force.
      restore: () => checkConflict().then(synchronizer.restore),
    },
    onCacheProblem(problem) {
      cacheProblem = problem
    },
    onError,
    log,
  })
  return { agent }
}

/** The proxy with its policy, limits, self-test and records. */
function composeProxy(
  from: AgentSurroundings,
  parts: DependencyContainer,
  shared: {
    readonly active: ActivePolicy
    /** The trusted time, in epoch milliseconds. */
    readonly now: () => number
    readonly onError: (error: unknown) => void
  },
) {
  const { config, clock, uptime, log } = from
  const { active, onError } = shared
  const tally = createDecisionTally()
  const network = { resolve: parts.resolve(RESOLVE), dial: parts.resolve(DIAL) }
  const parent = createParent(from, { ...network, isSelf: (...at) => proxy.isSelf(...at) })
  const ruled = parent === null ? active : governWithParent(active, parent)
  const { recorder, ...records } = keepRecords({
    ...from,
    directory: join(config.agentDir, 'records'),
    proxy: () => endOf(proxy.describe()),
    now: shared.now,
  })
  const onEvent = takeEvents({
    recorder,
    tally,
    log,
    isProbe: (decision) => canaries.isOwn(decision),
  })
  const canaries = createCanaries()
  const decide = canaries.decide(ruled.decide)
  const live = createLiveConnections(decide, from.maxConnections)
  recheckOnChange({ ...from, ...shared, live })
  const serving = {
    ...network,
    decide: ruled.decide,
    parent,
    idleMs: IDLE_TIMEOUT_MS,
    flushTimeoutMs: FLUSH_TIMEOUT_MS,
    maxConnections: 2 * from.maxConnections,
    bodyRate: BODY_RATE,
    nearMisses: createNearMisses(active.explain, uptime),
    isSelf: (...at: Parameters<Proxy['isSelf']>) => proxy.isSelf(...at),
    onClient: recorder.notice,
    onEvent,
    onError,
  }
  const proxy: Proxy = createProxy({
    ...serving,
    port: config.proxyPort,
    decide,
    resolve: canaries.resolve(network.resolve),
    live,
  })
  const carriesDatagrams = parent === null
  const probe = { canaries, token: createToken, clock, carriesDatagrams }
  const points = [{ ...proxy, probe: () => probeProxy(probe, proxy.describe()) }]
  const asked = config.users === 'all' ? connectionsOnly(ruled) : ruled
  const counted = { recorder, records, tally }
  return { ...counted, asked, canaries, network, onEvent, parent, points, proxy, serving }
}

/** Lets the points and a sandbox test themselves. */
function composeProber(
  { config, clock, random, log }: AgentSurroundings,
  of: {
    readonly points: readonly Probed[]
    readonly canaries: Canaries
    readonly sandboxes: Pick<SandboxParts, 'probe'>
    readonly onChange: () => void
  },
): Prober {
  const { points, canaries, sandboxes, onChange } = of
  const probe = (): Promise<ProbeResult> => sandboxes.probe({ canaries, token: createToken })
  return createProber({
    points: [
      ...points,
      ...(config.users === 'all' ? [] : [{ name: 'sandbox' as const, probe, isCostly: true }]),
    ],
    timetable: createTimetable(everyHour(clock), random(), clock),
    onChange,
    log,
  })
}

function createParent(
  from: AgentSurroundings,
  reach: Pick<ParentDeps, 'resolve' | 'dial' | 'isSelf'>,
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
    to.tally.add(event.decision)
    logDecision(event.decision, to.log)
  }
}

/** A label of a name, with 122 random bits. */
function createToken(): string {
  return randomUUID().replaceAll('-', '')
}
