// Imported first: tsyringe throws on import without `Reflect.getMetadata`.
import '@abraham/reflection'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { container as root, type DependencyContainer, type InjectionToken } from 'tsyringe'
import { createAgent, type Agent, type AgentSurroundings } from './agent.ts'
import { answerBreakGlass } from './break-glass/answer-break-glass.ts'
import { createBreakGlass } from './break-glass/break-glass.ts'
import { createActivePolicy } from './decision/active-policy.ts'
import { createDecisionTally } from './decision/decision-tally.ts'
import { controlPlane } from './decision/offline.ts'
import { createConflictCheck } from './enrol/second-enrolment.ts'
import { HINTS_OFF, listenForHints } from './hint/hint-listener.ts'
import { describeAgent } from './local-api/agent-status.ts'
import { listPolicies } from './local-api/list-policies.ts'
import { denyFileOf } from './local-rules/deny-file.ts'
import { denyPolicies } from './local-rules/deny-policies.ts'
import { createLocalRules } from './local-rules/local-rules.ts'
import { createLocalApi } from './local-api/local-api.ts'
import { logDecision, logOutcomes, logStates } from './agent-log.ts'
import { createCanaries } from './points/probe/canaries.ts'
import { probeProxy } from './points/probe/probe-proxy.ts'
import { createProber, everyHour, type Prober } from './points/probe/prober.ts'
import { FLUSH_TIMEOUT_MS } from './http/await-flushed.ts'
import { decideAsAsked } from './local-api/decide-as-proxy.ts'
import { createDial, type Dial } from './proxy/target/dial.ts'
import { createHttpProxy } from './proxy/http-proxy.ts'
import { createLiveConnections } from './proxy/admission/live-connections.ts'
import { createNearMisses } from './proxy/denial/near-misses.ts'
import { recheckOnChange } from './proxy/admission/recheck-on-change.ts'
import { createResolver, type Resolve } from './proxy/target/resolver.ts'
import { reportToServer } from './report/report-to-server.ts'
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
const MAX_CONNECTIONS = 1024
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
  const reporter = reportToServer({ ...shared, breakGlass, record, probes, fetchFile })
  poller.subscribe(reporter.notice)
  const hints = config.hints ? listenForHints({ ...from, fetchFile, poller, reporter }) : null

  const tally = createDecisionTally()
  const canaries = createCanaries()
  const decide = canaries.decide(active.decide)
  const live = createLiveConnections(decide, MAX_CONNECTIONS)
  recheckOnChange({ ...shared, live })
  const resolve = parts.resolve(RESOLVE)
  const proxy = createHttpProxy({
    port: config.proxyPort,
    decide,
    resolve: canaries.resolve(resolve),
    dial: parts.resolve(DIAL),
    live,
    idleMs: IDLE_TIMEOUT_MS,
    flushTimeoutMs: FLUSH_TIMEOUT_MS,
    maxConnections: 2 * MAX_CONNECTIONS,
    bodyRate: BODY_RATE,
    nearMisses: createNearMisses(active.explain, uptime),
    onEvent({ decision, flow }) {
      if (flow !== undefined || canaries.isOwn(decision)) return
      tally.add(decision)
      logDecision(decision, log)
    },
    onError,
  })
  const probe = { canaries, token: createToken, clock }
  const points = [{ ...proxy, probe: () => probeProxy(probe, proxy.describe()) }]
  const timetable = createTimetable(everyHour(clock), random(), clock)
  const prober = createProber({ points, timetable, onChange: reporter.notice, log })

  const described = { ...shared, startedAtMs, breakGlass, synchronizer, poller, tally, points }
  const localApi = createLocalApi({
    ...decideAsAsked({ ...shared, tally, resolve, isSelf: proxy.isSelf }),
    ...answerSync({ ...shared, synchronizer, poller }),
    ...createLocalRules({ ...shared, denies: from.localDenies, file: denyFileOf(config.agentDir) }),
    ...answerBreakGlass({ breakGlass, poller, log }),
    status: () =>
      describeAgent({ ...described, prober, hints: hints?.status() ?? HINTS_OFF, cacheProblem }),
    policies: () => listPolicies(active),
    flushTimeoutMs: FLUSH_TIMEOUT_MS,
    onError,
  })
  const agent = createAgent({
    localApi,
    socketPath: config.socketPath,
    points,
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

/** A label of a name, with 122 random bits. */
function createToken(): string {
  return randomUUID().replaceAll('-', '')
}
