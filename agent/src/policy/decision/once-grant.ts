import type { Decision } from '@palisade/policy-core'
import type { AccessGrant } from '@palisade/protocol'
import type { PolicyBundle } from './policy-bundle.ts'

/** Whether grants alone allowed the request: without them no rule in force matches it. */
export function isGrantedAlone({ decision, reason, rules }: Decision): boolean {
  return decision === 'allow' && reason === 'rule' && rules.every(isOfGrant) && rules.length > 0
}

/**
 * The grant for one use that the request needs, or null: another rule or grant, or a default that
 * observes, would allow it too.
 */
export function findOnceGrant(
  bundle: Pick<PolicyBundle, 'grants' | 'settings'> | null,
  decision: Decision,
): AccessGrant | null {
  if (bundle === null || bundle.grants.length === 0 || !isGrantedAlone(decision)) return null
  const { grants, settings } = bundle
  if (settings.default === 'observe') return null
  const matched = decision.rules.map(({ rule_id }) => grants.find(({ id }) => id === rule_id))
  return matched.every((grant) => grant?.once === true) ? (matched[0] ?? null) : null
}

function isOfGrant({ origin }: Decision['rules'][number]): boolean {
  return origin === 'grant'
}
