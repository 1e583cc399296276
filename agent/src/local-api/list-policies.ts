import type { Policy, Rule } from '@palisade/policy-core'
import type { InactiveReason, ListedRule, PolicyListLine } from '@palisade/protocol'
import type { ActivePolicy, Enforced } from '../decision/active-policy.ts'

type InForce = Extract<Enforced, { readonly kind: 'bundle' }>

/** The rules of this machine at the time of the call, computed line by line. */
export function listPolicies(
  active: Pick<ActivePolicy, 'enforced' | 'state'>,
): Iterable<PolicyListLine> {
  const enforced = active.enforced()
  const state = active.state()
  if (enforced.kind === 'nothing')
    return [{ kind: 'head', state, revision: null, stale: false, offline_allow: [], rules: 0 }]
  return listBundle(enforced, state)
}

function* listBundle(
  enforced: InForce,
  state: ReturnType<ActivePolicy['state']>,
): Generator<PolicyListLine> {
  const { bundle, stale } = enforced
  const { revision, policies, settings } = bundle.bundle
  yield {
    kind: 'head',
    state,
    revision,
    stale,
    offline_allow: [...settings.offline_allow],
    rules: countRules(policies) + countRules(bundle.local),
  }
  for (const [origin, list] of [
    ['org', policies],
    ['local', bundle.local],
  ] as const)
    for (const policy of list)
      for (const rule of policy.allowlist_v0?.rules ?? [])
        yield listRule(policy, rule, origin, enforced)
}

function listRule(
  policy: Policy,
  rule: Rule,
  origin: ListedRule['origin'],
  enforced: InForce,
): ListedRule {
  const reason = rule.decision === 'deny' ? null : whyInactive(origin, enforced)
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
    ...(reason === null ? {} : { inactive_reason: reason }),
  }
}

/** Why an allow does not count now; denies always count. */
function whyInactive(
  origin: ListedRule['origin'],
  { allows }: Pick<InForce, 'allows'>,
): InactiveReason | null {
  if (origin === 'local') return 'governed'
  if (allows === 'all') return null
  return allows === 'none' ? 'conflict' : 'policy_expired'
}

export function countRules(policies: readonly Policy[]): number {
  return policies.reduce((sum, { allowlist_v0 }) => sum + (allowlist_v0?.rules.length ?? 0), 0)
}
