import type { PolicyProblem } from '../errors.ts'
import type { PatternReader } from '../pattern/pattern-reader.ts'
import { checkRuleWith } from '../policy/check-rule.ts'
import { domainOf, type Domain, type Policy, type Rule } from '../policy/policy.ts'
import { quote, show } from '../quote.ts'
import { ITEMS_A_STEP, type Steps } from '../steps.ts'
import type { Origin } from '../policy/decision.ts'

/**
 * Finds all problems that prevent one policy from compiling, rule by rule. It checks types too,
 * because JavaScript callers can pass any value. `path` names the policy by its position, for one
 * that cannot be identified by its id and name.
 */
export function* findProblems(
  policy: Policy,
  origin: Origin,
  path: string,
  reader: PatternReader,
): Steps<PolicyProblem[]> {
  const nowhere = { origin, policy_id: '', policy_name: '', rule_id: '', rule_name: '' }
  if (!isObject(policy))
    return [{ ...nowhere, member: path, message: `${show(policy)} is not an object` }]
  const where = { ...nowhere, policy_id: textOf(policy.id), policy_name: textOf(policy.name) }
  const wrong = findMistyped(policy, path) ?? findWrongScope(policy.scope)
  if (wrong !== null) return [{ ...where, ...wrong }]
  const set: unknown = policy.allowlist_v0
  if (set === undefined) return []
  if (!isObject(set))
    return [{ ...where, member: 'allowlist_v0', message: `${show(set)} is not an object` }]
  const rules = set['rules']
  if (!Array.isArray(rules))
    return [{ ...where, member: 'allowlist_v0.rules', message: `${show(rules)} is not an array` }]

  return yield* findInRules(rules, where, reader)
}

type Finding = Pick<PolicyProblem, 'member' | 'message'>

/** Allocates no objects for a valid rule; see `checkRuleWith`. */
function* findInRules(
  rules: readonly unknown[],
  where: Omit<PolicyProblem, keyof Finding>,
  reader: PatternReader,
): Steps<PolicyProblem[]> {
  let domain: Domain | null = null
  const problems: PolicyProblem[] = []
  for (let index = 0; index < rules.length; index += 1) {
    if (index % ITEMS_A_STEP === 0) yield
    const rule = rules[index]
    if (!isObject(rule)) {
      const member = memberOf(index)
      problems.push({ ...where, member, message: `${show(rule)} is not an object` })
      continue
    }
    const found = findInRule(rule as unknown as Rule, index, domain, reader)
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

/** `domain` is the domain of the preceding rules, or null. */
function findInRule(
  rule: Rule,
  index: number,
  domain: Domain | null,
  reader: PatternReader,
): readonly Finding[] {
  const wrong = isNamed(rule) ? null : findMistyped(rule, memberOf(index))
  if (wrong !== null) return [wrong]
  const found = checkRuleWith(reader, rule)
  if (found.length > 0) return found
  const action = rule.actions[0]
  if (action === undefined || domain === null || domain === domainOf(action)) return found
  const message =
    `${quote(action)} does not belong to the ${domain} domain of the policy's other rules; ` +
    `write it in a policy of its own`
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

function memberOf(rule: number): string {
  return `allowlist_v0.rules[${rule}]`
}

/** Avoids formatting a member for rules that have an id and a name. */
function isNamed({ id, name }: Named): boolean {
  return typeof id === 'string' && typeof name === 'string'
}

interface Named {
  readonly id: unknown
  readonly name: unknown
}

/** Reports the first of id and name that is not a string. */
function findMistyped({ id, name }: Named, path: string): Finding | null {
  if (typeof id !== 'string')
    return { member: `${path}.id`, message: `${show(id)} is not a string` }
  if (typeof name !== 'string')
    return { member: `${path}.name`, message: `${show(name)} is not a string` }
  return null
}

/** Refuses an unreadable scope: it must not pass for one without teams, which covers all users. */
function findWrongScope(scope: unknown): Finding | null {
  if (scope === undefined) return null
  if (!isObject(scope)) return { member: 'scope', message: `${show(scope)} is not an object` }
  const other = Object.keys(scope).find((member) => member !== 'teams')
  if (other !== undefined)
    return { member: 'scope', message: `unknown member ${quote(other)}; write \`teams\`` }
  const teams = scope['teams']
  if (teams === undefined) return null
  if (!Array.isArray(teams))
    return { member: 'scope.teams', message: `${show(teams)} is not an array` }
  const wrong = teams.findIndex((team) => typeof team !== 'string')
  if (wrong < 0) return null
  return { member: `scope.teams[${wrong}]`, message: `${show(teams[wrong])} is not a string` }
}
