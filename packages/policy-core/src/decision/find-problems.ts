import type { PolicyProblem } from '../errors.ts'
import { checkRule } from '../policy/check-rule.ts'
import { domainOf, type Domain, type Policy } from '../policy/policy.ts'
import { quote } from '../quote.ts'
import type { Origin } from './decision.ts'

/** Everything that keeps one policy from being compiled, rule by rule. */
export function findProblems(policy: Policy, origin: Origin): PolicyProblem[] {
  let domain: Domain | null = null
  return (policy.allowlist_v0?.rules ?? []).flatMap((rule) => {
    const where = {
      origin,
      policy_id: policy.id,
      policy_name: policy.name,
      rule_id: rule.id,
      rule_name: rule.name,
    }
    const found = checkRule(rule)
    const [action] = rule.actions
    if (found.length > 0 || action === undefined)
      return found.map(({ member, message }) => ({ ...where, member, message }))
    domain ??= domainOf(action)
    if (domain === domainOf(action)) return []
    const message = `${quote(action)} does not belong to the ${domain} domain of the policy's other rules; write it in a policy of its own`
    return [{ ...where, member: 'actions', message }]
  })
}
