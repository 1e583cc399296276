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

  return findInRules(rules, where, reader)
}

type Finding = Pick<PolicyProblem, 'member' | 'message'>

/** Nothing is made for a rule in which nothing is wrong; see `checkRuleWith`. */
function findInRules(
  rules: readonly unknown[],
  where: Omit<PolicyProblem, keyof Finding>,
  reader: PatternReader,
): PolicyProblem[] {
  let domain: Domain | null = null
  const problems: PolicyProblem[] = []
  for (let index = 0; index < rules.length; index += 1) {
    const rule = rules[index]
    if (!isObject(rule)) {
      const member = `allowlist_v0.rules[${index}]`
      problems.push({ ...where, member, message: `${show(rule)} is not an object` })
      continue
    }
    const found = findInRule(rule as unknown as Rule, reader, domain)
    if (found.length === 0) {
      domain ??= domainOfRule(rule as unknown as Rule)
      continue
    }
    const [rule_id, rule_name] = [textOf(rule['id']), textOf(rule['name'])]
    for (const { member, message } of found)
      problems.push({ ...where, rule_id, rule_name, member, message })
  }
  return problems
}

/** `domain` is that of the rules before it, or null. */
function findInRule(rule: Rule, reader: PatternReader, domain: Domain | null): readonly Finding[] {
  const wrong = findMistyped(rule)
  if (wrong !== null) return [wrong]
  const found = checkRuleWith(reader, rule)
  if (found.length > 0) return found
  const action = rule.actions[0]
  if (action === undefined || domain === null || domain === domainOf(action)) return found
  const message = `${quote(action)} does not belong to the ${domain} domain of the policy's other rules; write it in a policy of its own`
  return [{ member: 'actions', message }]
}

function domainOfRule({ actions }: Rule): Domain | null {
  const action = actions[0]
  return action === undefined ? null : domainOf(action)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The first of id and name that is no text. */
function findMistyped(owner: { readonly id: unknown; readonly name: unknown }): Finding | null {
  const { id, name } = owner
  if (typeof id !== 'string') return { member: 'id', message: `${show(id)} is not a string` }
  if (typeof name !== 'string') return { member: 'name', message: `${show(name)} is not a string` }
  return null
}
