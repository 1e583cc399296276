// Imported first: tsyringe throws on import without `Reflect.getMetadata`.
import '@abraham/reflection'
import { container as root, type DependencyContainer, type InjectionToken } from 'tsyringe'
import { join } from 'node:path'

import { followGrants } from './grants/access/grant-states.ts'
import { createOnceGrants } from './grants/access/once-grants.ts'
import { createAccessRequests } from './grants/access/request-access.ts'
import { createSpentGrants } from './grants/access/spent-grants.ts'
import { createAgent, type Agent, type AgentEnvironment } from './agent.ts'
import { answerBreakGlass } from './grants/break-glass/answer-break-glass.ts'
import { createBreakGlass } from './grants/break-glass/break-glass.ts'
import type { AgentConfig } from './host/config/config.ts'
import { createActivePolicy } from './policy/decision/active-policy.ts'
import { controlPlane } from './policy/decision/offline.ts'
import { createConflictCheck } from './sync/enrol/second-enrolment.ts'
import { HINTS_OFF, listenForHints } from './sync/hint/hint-listener.ts'
import { describeAgent } from './local-api/agent-status.ts'
import { listPolicies } from './local-api/list-policies.ts'
import { denyFileOf } from './policy/local-rules/deny-file.ts'
import { denyPolicies } from './policy/local-rules/deny-policies.ts'
import { createLocalRules } from './policy/local-rules/local-rules.ts'
import { createLocalApi } from './local-api/local-api.ts'
import { logOutcomes, logStates } from './log-events.ts'
import { createProbeResults } from './probe/proxy/probe-results.ts'
import { uploadRecords } from './records/upload/upload-records.ts'
import { FLUSH_TIMEOUT_MS } from './http/await-flushed.ts'
import { decideAsAsked } from './local-api/decide-as-proxy.ts'
import { reportToServer } from './report/report-to-server.ts'
import { createServeSandboxApi } from './local-api/sandbox-api.ts'
import { composeSandboxes, refuseSandboxes } from './compose-sandboxes.ts'
import { createTrustedClock } from './policy/state/trusted-clock.ts'
import { createSelfTestMemory } from './sync/state/self-test-memory.ts'
import { createStateStore } from './sync/state/state-store.ts'
import { fetchAsDevice } from './sync/transport/fetch-file.ts'
import { answerSync } from './sync/update/answer-sync.ts'
import { createPoller, type Poller, type PollerDeps } from './sync/update/poller.ts'
import { createSynchronizer } from './sync/update/synchronizer.ts'
import { createSchedule, createTimetable } from './sync/update/timetable.ts'
import { createViewChannel } from './sync/update/view-channel.ts'
import { composeProber, composeProxy, DIAL_TIMEOUT_MS } from './compose-enforcement.ts'
import { createDial, type Dial } from './proxy/target/dial.ts'
import { createResolver, createServiceResolver, type Resolve } from './proxy/target/resolver.ts'

const RESOLVE_TIMEOUT_MS = 5_000
/** Requests, tunnels and UDP conversations of one sandbox at once. */
const SANDBOX_SLOTS = 1_024

/** Network access of the proxy; tests may replace these parts. */
export const RESOLVE: InjectionToken<Resolve> = Symbol('Resolve')
export const DIAL: InjectionToken<Dial> = Symbol('Dial')

export function createParts({ config }: Pick<AgentEnvironment, 'config'>): DependencyContainer {
  const parts = root.createChildContainer()
  parts.register(RESOLVE, { useValue: createResolver(config.dnsServers, RESOLVE_TIMEOUT_MS) })
  parts.register(DIAL, { useValue: createDial(DIAL_TIMEOUT_MS) })
  return parts
}

/** Composes the agent. No resource is opened before `start`. */
export function createContainer(
  from: AgentEnvironment,
  parts: DependencyContainer = createParts(from),
): { readonly agent: Agent } {
  const { config, enrolment, clock, log } = from
  const onError = (err: unknown): void => log.error({ err }, 'unexpected error')
  const startedAtMs = clock()
  const isShared = config.users === 'all'

  const time = createTrustedClock({ wall: clock, uptime: from.uptime })
  const control = controlPlane(enrolment.server)
  const localPolicies = [...from.localPolicies, ...denyPolicies(from.localDenies)]
  const spent = createSpentGrants({ directory: join(config.agentDir, 'access'), now: time.now })
  const settings = { localPolicies, clock: time, controlPlane: control, spentAmong: spent.among }
  const active = createActivePolicy({ ...from, ...settings })
  logStates(active, log)
  const shared = { ...from, active, onError }

  const fetchFile = fetchAsDevice({ ...from, now: time.now })
  const directory = join(config.agentDir, 'policy')
  const store = createStateStore(directory)
  const channel = createViewChannel({ enrolment, store, fetchFile, clock: time })
  const selfTests = createSelfTestMemory({ ...from, directory })
  const checkConflict = createConflictCheck(config, enrolment, active)
  const { org } = enrolment
  const synchronizer = createSynchronizer({ ...shared, channel, checkConflict, selfTests, org })
  const poller = composePoller({ ...shared, run: synchronizer.run })
  const { inTurn } = poller
  const breakGlass = createBreakGlass({ ...shared, channel, store, clock: time, inTurn })
  const { record } = synchronizer
  const probes = createProbeResults({ clock, isShared })
  const reporter = reportToServer({ ...shared, breakGlass, record, probes, fetchFile })
  poller.subscribe(reporter.notice)
  const assignment = synchronizer.assignmentVersion
  const listening = { ...from, fetchFile, poller, reporter, assignment }
  const hints = config.hints ? listenForHints(listening) : HINTS_OFF

  const network = networkOf(parts, config)
  const once = createOnceGrants({ ...shared, spent })
  const grants = followGrants({ ...shared, spent })
  const enforcement = composeProxy(from, { active, once, network, now: time.now, onError })
  const { policy, address, parent, points, onEvent, recorder, records, kept, tally } = enforcement
  const access = createAccessRequests({ ...from, fetchFile, grants })
  const uploader = uploadRecords({ ...shared, kept, fetchFile, now: time.now })
  const counters = { tally, recorder, uploader, points }
  const status = { ...shared, ...counters, startedAtMs, breakGlass, grants, synchronizer, poller }
  const answers = {
    ...records,
    status: () => describeAgent({ ...status, probes, parent, hints }),
    policies: () => listPolicies(active, grants),
    requestAccess: access.ask,
    accessRequests: access.list,
    flushTimeoutMs: FLUSH_TIMEOUT_MS,
  }
  const api = { ...shared, ...network, active: policy, onEvent, isOwnAddress: address.isOwn }
  const paths = { agentDir: config.agentDir, socketPath: config.socketPath }
  const sandboxes = composeSandboxes({
    ...shared,
    ...paths,
    serveApi: createServeSandboxApi({ ...api, ...answers, access }),
    network: { ...shared, ...enforcement.serving, maxSlots: SANDBOX_SLOTS },
  })
  const { notice: onChange } = reporter
  const prober = composeProber(from, { ...enforcement, sandboxes, results: probes, onChange })
  const localApi = createLocalApi({
    ...decideAsAsked(api),
    ...answers,
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
    ...shared,
    localApi,
    socketPath: config.socketPath,
    users: config.users,
    points,
    sandboxes,
    recorder,
    uploader,
    prober,
    breakGlass,
    poller,
    reporter,
    hints,
    spent,
    synchronizer,
  })
  return { agent }
}

function networkOf(parts: DependencyContainer, { dnsServers }: Pick<AgentConfig, 'dnsServers'>) {
  return {
    resolve: parts.resolve(RESOLVE),
    resolveServices: createServiceResolver(dnsServers, RESOLVE_TIMEOUT_MS),
    dial: parts.resolve(DIAL),
  }
}

/** Asks for a policy by the schedule, and logs each outcome. */
function composePoller({
  config,
  clock,
  random,
  log,
  run,
  onError,
}: AgentEnvironment & Pick<PollerDeps, 'run' | 'onError'>): Poller {
  const schedule = createSchedule(config.syncSchedule, clock)
  const timetable = createTimetable(schedule, random(), clock)
  const poller = createPoller({ run, timetable, clock, onError })
  logOutcomes(poller, log)
  return poller
}
