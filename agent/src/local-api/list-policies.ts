import { parseInstant, type Policy, type Rule } from '@palisade/policy-core'
import type { GrantStatus, InactiveReason, ListedRule, PolicyListLine } from '@palisade/protocol'
import type { GrantStates } from '../grants/access/grant-states.ts'
import type { ActivePolicy, Enforced } from '../policy/decision/active-policy.ts'

type InForce = Extract<Enforced, { readonly kind: 'bundle' }>

/** The rules of this machine at the time of the call, computed line by line. */
export function listPolicies(
  active: Pick<ActivePolicy, 'enforced' | 'now' | 'state'>,
  grants: GrantStates = { list: () => [] },
): Iterable<PolicyListLine> {
  const enforced = active.enforced()
  const state = active.state()
  if (enforced.kind === 'nothing')
    return [{ kind: 'head', state, revision: null, stale: false, offline_allow: [], rules: 0 }]
  return listBundle(enforced, { state, nowMs: active.now(), grants: grants.list() })
}

function* listBundle(
  enforced: InForce,
  {
    state,
    nowMs,
    grants,
  }: {
    readonly state: ReturnType<ActivePolicy['state']>
    readonly nowMs: number
    readonly grants: readonly GrantStatus[]
  },
): Generator<PolicyListLine> {
  const { bundle, stale } = enforced
  const { revision, policies, settings } = bundle.bundle
  yield {
    kind: 'head',
    state,
    revision,
    stale,
    offline_allow: [...settings.offline_allow],
    rules: countRules(policies) + countRules(bundle.local) + grants.length,
  }
  for (const grant of grants) yield listGrant(grant)
  for (const [origin, list] of [
    ['org', policies],
    ['local', bundle.local],
  ] as const)
    for (const policy of list)
      for (const rule of policy.allowlist_v0?.rules ?? [])
        yield listRule(policy, rule, { origin, allows: enforced.allows, nowMs })
}

function listGrant({ id, action, resources, expires_at, state }: GrantStatus): ListedRule {
  return {
    kind: 'rule',
    origin: 'grant',
    policy_id: 'grants',
    policy_name: 'access grants',
    rule_id: id,
    rule_name: id,
    decision: 'allow',
    actions: [action],
    resources: [...resources],
    active: state === 'in_force',
    expires_at,
    ...(state === 'in_force' ? {} : { inactive_reason: state }),
  }
}

function listRule(policy: Policy, rule: Rule, circumstances: Circumstances): ListedRule {
  const { origin } = circumstances
  const reason =
    findLapse(policy, rule, circumstances) ??
    (rule.decision === 'deny' ? null : whyInactive(circumstances))
  return {
    kind: 'rule',
    origin,
    policy_id: policy.id,
    policy_name: policy.name,
    rule_id: rule.id,
    rule_name: rule.name,
    decision: rule.decision,
    actions: [...rule.actions],
    resources: [...rule.resources],
    active: reason === null,
    ...(rule.expires_at === undefined ? {} : { expires_at: rule.expires_at }),
    ...(reason === null ? {} : { inactive_reason: reason }),
  }
}

interface Circumstances extends Pick<InForce, 'allows'> {
  readonly origin: ListedRule['origin']
  readonly nowMs: number
}

/** Why a rule does not count, whatever its decision. */
function findLapse(
  { mode }: Policy,
  { expires_at }: Rule,
  { nowMs }: Circumstances,
): InactiveReason | null {
  if (expires_at !== undefined && (parseInstant(expires_at) ?? 0) <= nowMs) return 'expired'
  return mode === 'shadow' ? 'shadow' : null
}

/** Why an allow does not count now. */
function whyInactive({ origin, allows }: Circumstances): InactiveReason | null {
  if (origin === 'local') return 'governed'
  if (allows === 'all') return null
  return allows === 'none' ? 'conflict' : 'policy_expired'
}

export function countRules(policies: readonly Policy[]): number {
  return policies.reduce((sum, { allowlist_v0 }) => sum + (allowlist_v0?.rules.length ?? 0), 0)
}
