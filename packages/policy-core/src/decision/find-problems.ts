import type { PolicyProblem } from '../errors.ts'
import type { PatternReader } from '../pattern/pattern-reader.ts'
import { checkRuleWith } from '../policy/check-rule.ts'
import { domainOf, type Domain, type Policy, type Rule } from '../policy/policy.ts'
import { quote, show } from '../quote.ts'
import type { Origin } from './decision.ts'

/**
 * Everything that keeps one policy from being compiled, rule by rule. Nothing is taken for granted
 * about the types: JavaScript callers can give anything.
 */
export function findProblems(
  policy: Policy,
  origin: Origin,
  reader: PatternReader,
): PolicyProblem[] {
  const nowhere = { origin, policy_id: '', policy_name: '', rule_id: '', rule_name: '' }
  if (!isObject(policy))
    return [{ ...nowhere, member: 'policy', message: `${show(policy)} is not an object` }]
  const where = { ...nowhere, policy_id: textOf(policy.id), policy_name: textOf(policy.name) }
  const mistyped = findMistyped(policy)
  if (mistyped !== null) return [{ ...where, ...mistyped }]
  const set: unknown = policy.allowlist_v0
  if (set === undefined) return []
  if (!isObject(set))
    return [{ ...where, member: 'allowlist_v0', message: `${show(set)} is not an object` }]
  const rules = set['rules']
  if (!Array.isArray(rules))
    return [{ ...where, member: 'allowlist_v0.rules', message: `${show(rules)} is not an array` }]

  let domain: Domain | null = null
  return [...rules].flatMap((given: unknown, index): PolicyProblem[] => {
    if (!isObject(given)) {
      const member = `allowlist_v0.rules[${index}]`
      return [{ ...where, member, message: `${show(given)} is not an object` }]
    }
    const rule = given as unknown as Rule
    const here = { ...where, rule_id: textOf(rule.id), rule_name: textOf(rule.name) }
    const wrong = findMistyped(rule)
    const found = wrong === null ? checkRuleWith(reader, rule) : [wrong]
    if (found.length > 0) return found.map(({ member, message }) => ({ ...here, member, message }))
    const [action] = rule.actions
    if (action === undefined) return []
    domain ??= domainOf(action)
    if (domain === domainOf(action)) return []
    const message = `${quote(action)} does not belong to the ${domain} domain of the policy's other rules; write it in a policy of its own`
    return [{ ...here, member: 'actions', message }]
  })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The first of id and name that is no text. */
function findMistyped(owner: {
  readonly id: unknown
  readonly name: unknown
}): Pick<PolicyProblem, 'member' | 'message'> | null {
  for (const member of ['id', 'name'] as const)
    if (typeof owner[member] !== 'string')
      return { member, message: `${show(owner[member])} is not a string` }
  return null
}
