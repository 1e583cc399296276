import type { Decision, Explanation } from '@palisade/policy-core'
import type { ActivePolicy } from '../../decision/active-policy.ts'
import { explainLoop, PARENT_LOOP, refuseLoop } from '../target/refuse-loop.ts'
import type { ParentProxy } from './parent-proxy.ts'

type Parent = Pick<ParentProxy, 'isParent' | 'resolves'>

/**
 * Applies the parent proxy to a decision. A connection to the parent itself is denied, because a
 * program could ask it for any target. Where the parent resolves the name, the decision on the name
 * is final: an allow of the name needs no address, and a name that only rules on addresses could
 * allow is denied.
 */
export function decideWithParent<D extends Decision>(made: D, parent: Parent): D {
  const decision = refuseLoop(made, parent.isParent, PARENT_LOOP)
  const { request, address_required, ...settled } = decision
  if (address_required !== true || request === null || !parent.resolves(request)) return decision
  const hint =
    settled.decision === 'allow' || settled.hint === null
      ? settled.hint
      : `the parent proxy resolves names, so only a rule on the name counts: ${settled.hint}`
  return { ...settled, request, hint } as D
}

/** Applies the same to an explanation. */
export function explainWithParent<E extends Explanation>(made: E, parent: Parent): E {
  return decideWithParent(explainLoop(made, parent.isParent, PARENT_LOOP), parent)
}

/** The policy in force as it applies to connections through the parent. */
export function governWithParent(
  active: Pick<ActivePolicy, 'decide' | 'explain'>,
  parent: Parent,
): Pick<ActivePolicy, 'decide' | 'explain'> {
  return {
    decide: (request) => decideWithParent(active.decide(request), parent),
    explain: (request) => explainWithParent(active.explain(request), parent),
  }
}
