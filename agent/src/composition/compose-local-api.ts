import type { AgentEnvironment } from '../agent.ts'
import type { GrantStates } from '../grants/access/grant-states.ts'
import { createAccessRequests } from '../grants/access/request-access.ts'
import { answerBreakGlass } from '../grants/break-glass/answer-break-glass.ts'
import { FLUSH_TIMEOUT_MS as flushTimeoutMs } from '../http/await-flushed.ts'
import { describeAgent } from '../local-api/agent-status.ts'
import { connectionsOnly } from '../local-api/connections-only.ts'
import { decideAsAsked } from '../local-api/decide-as-proxy.ts'
import { listPolicies } from '../local-api/list-policies.ts'
import { createLocalApi } from '../local-api/local-api.ts'
import { createServeSandboxApi } from '../local-api/sandbox-api.ts'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import type { DecisionTally } from '../policy/decision/decision-tally.ts'
import { denyFileOf } from '../policy/local-rules/deny-file.ts'
import { createLocalRules } from '../policy/local-rules/local-rules.ts'
import type { ProbeResults } from '../probe/proxy/probe-results.ts'
import type { Resolve } from '../proxy/target/resolver.ts'
import type { Records } from '../records/keep-records.ts'
import type { RecordedEvent } from '../records/recorded-event.ts'
import type { Uploader } from '../records/upload/uploader.ts'
import { refuseSandboxes } from '../sandbox/sandboxes.ts'
import { answerSync } from '../sync/update/answer-sync.ts'
import type { Enforcement } from './compose-enforcement.ts'
import { composeSandboxes } from './compose-sandboxes.ts'
import type { Sync } from './compose-sync.ts'

/** The parts whose state the API shows and changes. */
interface ShownParts {
  readonly active: ActivePolicy
  readonly grants: GrantStates
  readonly probes: ProbeResults
  readonly resolve: Resolve
  readonly sync: Sync
  readonly records: Records
  readonly tally: DecisionTally
  readonly uploader: Uploader
  readonly onEvent: (event: RecordedEvent) => void
  readonly enforcement: Enforcement
}

/** Composes the local API, and the sandboxes that it starts, with the API inside of them. */
export function composeLocalApi(environment: AgentEnvironment, shown: ShownParts) {
  const { admit, config, enrolment, version, clock, uptime, log, onError } = environment
  const { agentDir, socketPath, users } = config
  const { active, grants, records, tally, uploader, probes, resolve, onEvent } = shown
  const { fetchFile, synchronizer, poller, breakGlass, hints } = shown.sync
  const { governed, parent, points, isOwnAddress, sandboxNetwork } = shown.enforcement
  const startedAtMs = clock()

  const status = () =>
    describeAgent({
      config,
      enrolment,
      version,
      startedAtMs,
      active,
      grants,
      breakGlass,
      synchronizer,
      poller,
      hints,
      points,
      parent,
      probes,
      recorder: records.recorder,
      tally,
      uploader,
    })
  const policies = () => listPolicies(active, grants)
  const access = createAccessRequests({ enrolment, fetchFile, grants, uptime })
  const policy = users === 'all' ? connectionsOnly(governed) : governed
  const serveApi = createServeSandboxApi({
    active: policy,
    access,
    resolve,
    isOwnAddress,
    status,
    policies,
    log: records.log,
    flushTimeoutMs,
    onEvent,
    uptime,
    onError,
  })
  const sandboxes = composeSandboxes({
    agentDir,
    socketPath,
    active,
    network: sandboxNetwork,
    serveApi,
    uptime,
    clock,
    log,
    onError,
  })
  const asked = decideAsAsked({ active: policy, resolve, isOwnAddress, onEvent, uptime })
  const fetching = answerSync({ active, synchronizer, poller, uptime, log })
  const exceptions = answerBreakGlass({ breakGlass, poller, log })
  const localRules = createLocalRules({
    file: denyFileOf(agentDir),
    denies: environment.localDenies,
    localPolicies: environment.localPolicies,
    active,
    clock,
    uptime,
    log,
  })
  const localApi = createLocalApi({
    admit,
    decide: asked.decide,
    decideUnresolved: asked.decideUnresolved,
    explain: asked.explain,
    status,
    policies,
    log: records.log,
    verifyLog: records.verifyLog,
    requestAccess: access.ask,
    accessRequests: access.list,
    flushTimeoutMs,
    sync: fetching.sync,
    import: fetching.import,
    addDeny: localRules.addDeny,
    removeDenies: localRules.removeDenies,
    beginBreakGlass: exceptions.beginBreakGlass,
    endBreakGlass: exceptions.endBreakGlass,
    startSandbox: users === 'all' ? refuseSandboxes : sandboxes.startSandbox,
    sandboxLimits: sandboxes.limits,
    staged: sandboxes.staged,
    onError,
  })
  return { localApi, sandboxes }
}
