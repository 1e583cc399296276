import type { Decision, Explanation } from '@palisade/policy-core'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import { explainLoop, PARENT_LOOP, refuseLoop } from '../target/proxy-loop.ts'
import type { ParentProxy } from './parent-proxy.ts'

type Parent = Pick<ParentProxy, 'isParent' | 'resolves'>

/**
 * Applies the parent proxy to a decision. A connection to the parent itself is denied, because a
 * program could ask it for any target. Where the parent resolves the name, the decision on the name
 * is final: an allow of the name needs no address, and a name that only rules on addresses could
 * allow is denied. Datagrams are denied, because no parent carries them and they may not bypass it.
 */
export function decideWithParent<D extends Decision>(made: D, parent: Parent): D {
  if (made.request?.action === 'connect:udp') return refuseDatagrams(made)
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
  const decided = decideWithParent(explainLoop(made, parent.isParent, PARENT_LOOP), parent)
  if (made.request?.action !== 'connect:udp' || decided === made) return decided
  const matched = decided.matched.map((rule) => ({ ...rule, deciding: false }))
  return { ...decided, matched, detail: null }
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

const NO_DATAGRAMS = 'the parent proxy carries no datagrams, whatever a rule allows; use TCP'

/** Denials that no rule could lift stay as they are. */
function refuseDatagrams<D extends Decision>(made: D): D {
  if (made.decision === 'deny' && made.reason !== 'default_deny') return made
  const { address_required: _, ...rest } = made
  const denied = { decision: 'deny', reason: 'default_deny', rules: [], hint: NO_DATAGRAMS }
  return { ...rest, ...denied } as unknown as D
}
