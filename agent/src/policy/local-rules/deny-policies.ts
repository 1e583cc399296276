import {
  compileInSteps,
  domainOf,
  type Domain,
  type Policy,
  type Steps,
} from '@palisade/policy-core'
import type { LocalDeny } from '@palisade/protocol'

const NAMES = [
  ['network', 'palisade deny'],
  ['filesystem', 'palisade deny, files'],
] as const

/** The denies as policies, one for each domain, because a policy has rules of one domain. */
export function denyPolicies(denies: readonly LocalDeny[]): readonly Policy[] {
  return NAMES.flatMap(([domain, name]) => {
    const rules = denies
      .filter((deny) => isOf(deny, domain))
      .map((deny) => ({
        id: deny.id,
        name: deny.name,
        actions: deny.actions,
        decision: 'deny' as const,
        resources: [deny.resource],
      }))
    return rules.length === 0 ? [] : [{ id: `local_${domain}`, name, allowlist_v0: { rules } }]
  })
}

/**
 * Throws policy-core's `PolicyError` when a deny does not compile, or all are too costly. In steps,
 * because a thousand long denies would delay decisions by a quarter of a second.
 */
export function* checkDenies(denies: readonly LocalDeny[]): Steps<void> {
  yield* compileInSteps({ policies: [], local: denyPolicies(denies), governed: true })
}

function isOf({ actions: [first] }: LocalDeny, domain: Domain): boolean {
  return first !== undefined && domainOf(first) === domain
}
