import type { Policy } from '@palisade/policy-core'
import type { AgentStatus, KeptEnrolment } from '@palisade/protocol'
import type { GrantStates } from '../grants/access/grant-states.ts'
import type { BreakGlass } from '../grants/break-glass/break-glass.ts'
import type { AgentConfig } from '../host/config/config.ts'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import type { DecisionTally } from '../policy/decision/decision-tally.ts'
import type { Uploader } from '../records/upload/uploader.ts'
import type { HintListener } from '../sync/hint/hint-listener.ts'
import { usualEnrolmentPath } from '../sync/enrol/second-enrolment.ts'
import { describeAwaitedIssue } from '../sync/update/sync-status.ts'
import { countRules } from './list-policies.ts'
import { describePoints, type EnforcementPoint } from '../enforcement/enforcement-point.ts'
import type { Recorder } from '../records/recorder.ts'
import type { ProbeResults } from '../probe/proxy/probe-results.ts'
import type { Poller } from '../sync/update/poller.ts'
import type { Synchronizer } from '../sync/update/synchronizer.ts'

/** The user's own file may be large, and the status is read often. */
const MAX_LISTED_RULES = 100
const MAX_LISTED_RESOURCES = 5

export interface StatusDeps {
  readonly config: Pick<AgentConfig, 'agentDir' | 'enrolmentPath' | 'users'>
  readonly enrolment: KeptEnrolment
  readonly version: string
  readonly startedAtMs: number
  readonly active: Pick<ActivePolicy, 'current' | 'local' | 'nextExpiryMs' | 'state'>
  readonly breakGlass: Pick<BreakGlass, 'inForce'>
  readonly grants: GrantStates
  readonly synchronizer: Pick<Synchronizer, 'record' | 'awaited' | 'cacheProblem'>
  readonly poller: Pick<Poller, 'nextAttemptAt'>
  readonly hints: Pick<HintListener, 'status'>
  readonly uploader: Pick<Uploader, 'status'>
  readonly tally: Pick<DecisionTally, 'read'>
  readonly recorder: Pick<Recorder, 'status'>
  readonly points: readonly EnforcementPoint[]
  /** Null without a parent proxy. */
  readonly parent: { readonly status: () => NonNullable<AgentStatus['parent_proxy']> } | null
  readonly probes: Pick<ProbeResults, 'all' | 'assurance'>
}

/** The content of `palisade status`; holds no secret. */
export function describeAgent(deps: StatusDeps): AgentStatus {
  const { server, org, user, device_id, name } = deps.enrolment
  const nextMs = deps.poller.nextAttemptAt()
  const state = deps.active.state()
  const { config } = deps
  return {
    state,
    server,
    org,
    user,
    device_id,
    ...(name === undefined ? {} : { enrolled_as: name }),
    agent_version: deps.version,
    ...(config.users === 'all' ? { users: 'all' as const } : {}),
    started_at: new Date(deps.startedAtMs).toISOString(),
    ...(state === 'conflict'
      ? { enrolment_files: [config.enrolmentPath, usualEnrolmentPath(config)] }
      : {}),
    ...describePoints(deps.points),
    ...(deps.parent === null ? {} : { parent_proxy: deps.parent.status() }),
    probes: deps.probes.all(),
    assurance: deps.probes.assurance(),
    bundle: describeBundle(deps.active),
    ...describeLocal(deps.active.local()),
    break_glass: deps.breakGlass.inForce(),
    ...describeGrants(deps),
    sync: {
      ...deps.synchronizer.record(),
      next_attempt_at: nextMs === null ? null : new Date(nextMs).toISOString(),
      awaiting: describeAwaitedIssue(deps.synchronizer.awaited()),
    },
    hints: deps.hints.status(),
    cache_problem: deps.synchronizer.cacheProblem(),
    decisions: deps.tally.read(),
    records: deps.recorder.status(),
    upload: deps.uploader.status(),
    ...describeSupport(deps.active),
  }
}

function describeSupport({
  current,
}: Pick<ActivePolicy, 'current'>): Pick<AgentStatus, 'support_message'> {
  const text = current()?.bundle.settings.support_message
  return text === undefined ? {} : { support_message: text }
}

function describeGrants({
  active,
  grants: states,
}: Pick<StatusDeps, 'active' | 'grants'>): Pick<AgentStatus, 'grants' | 'unreadable_grants'> {
  const grants = [...states.list()]
  const unreadable = active.current()?.bundle.unreadableGrants ?? 0
  return {
    ...(grants.length === 0 ? {} : { grants }),
    ...(unreadable === 0 ? {} : { unreadable_grants: unreadable }),
  }
}

function describeLocal(policies: readonly Policy[]): Pick<AgentStatus, 'local_rules'> {
  if (policies.length === 0) return {}
  const all = policies.flatMap((policy) =>
    (policy.allowlist_v0?.rules ?? []).map((rule) => ({ policy_name: policy.name, ...rule })),
  )
  const denies = all.filter(({ decision }) => decision === 'deny').length
  const rules = all.slice(0, MAX_LISTED_RULES).map((rule) => ({
    policy_name: rule.policy_name,
    name: rule.name,
    decision: rule.decision,
    actions: [...rule.actions],
    resources: rule.resources.slice(0, MAX_LISTED_RESOURCES),
    resource_count: rule.resources.length,
  }))
  return { local_rules: { denies, allows: all.length - denies, rules } }
}

function describeBundle({
  current,
  nextExpiryMs,
}: Pick<ActivePolicy, 'current' | 'nextExpiryMs'>): AgentStatus['bundle'] {
  const inForce = current()
  if (inForce === null) return null
  const nextMs = nextExpiryMs()
  const shadow = inForce.bundle.policies.filter(({ mode }) => mode === 'shadow').length
  const { revision, issued_at, stale_at, expires_at, policies } = inForce.bundle
  const rules = countRules(policies)
  const { source } = inForce
  return {
    revision,
    issued_at,
    stale_at,
    expires_at,
    policies: policies.length,
    rules,
    ...(inForce.bundle.settings.default === 'observe' ? { default: 'observe' } : {}),
    ...(shadow === 0 ? {} : { shadow_policies: shadow }),
    ...(nextMs === null ? {} : { next_expiry_at: new Date(nextMs).toISOString() }),
    source,
  }
}
