import {
  checkRule,
  compilePolicy,
  domainOf,
  PolicyError,
  type Domain,
  type PolicyProblem,
} from '@palisade/policy-core'
import { invalidArgument } from '../../platform/api-error.ts'
import { withinField } from '../../http/input/within-field.ts'
import type { PolicyRecord, RuleRecord } from '../../store/records.ts'
import { formatPolicy } from '../../store/aggregates/policies/format-policy.ts'
import { knownRule, type KnownRules, type RuleProblems, type Rules } from '../known-rules.ts'

const NO_PROBLEMS: RuleProblems = { all: [], compiles: true }

/**
 * Throws 400 unless `rule`, and then `policy` in its new form, compiles: a policy that machines
 * cannot enforce must not be stored. `old` is the stored rule, or null for a new one.
 *
 * The limits of one pattern apply to patterns that are not yet in `old`. Stored patterns may exceed
 * them, because an older server accepted them.
 */
export function requireCompilable(
  known: KnownRules,
  policy: PolicyRecord,
  rule: RuleRecord,
  old: RuleRecord | null,
): void {
  if (old !== null && hasSameResources(rule, old))
    knownRule(known, rule).problems ??= findProblems(known, old)
  requireCompilableRule(known, rule, old)
  if (isCompilable(known, policy.rules)) return
  const problem = findProblem(policy)
  if (problem === null) return
  const field = problem.rule_id === rule.id ? problem.member : undefined
  throw invalidArgument(problem.message, { field })
}

/** Like `requireCompilable`, with `rule` appended. Known rules are not checked again. */
export function requireCompilableWith(
  known: KnownRules,
  policy: PolicyRecord,
  rule: RuleRecord,
): void {
  const { rules } = policy
  const action = (rules[0] ?? rule).actions[0]
  const fits = action !== undefined && isOfDomain(rule, domainOf(action))
  if (fits && findProblems(known, rule).all.length === 0 && isCompilable(known, rules)) return
  requireCompilable(known, { ...policy, rules: [...rules, rule] }, rule, null)
}

/**
 * Tells whether a policy compiles, without building its indices: compilation fails only for a
 * problem of a single rule or for mixed domains. Known rules are not checked again, so the cost of
 * a new rule does not grow with its policy.
 */
function isCompilable(known: KnownRules, rules: Rules): boolean {
  const action = rules[0]?.actions[0]
  if (action === undefined) return rules.length === 0
  const domain = domainOf(action)
  return rules.every((rule) => isOfDomain(rule, domain) && findProblems(known, rule).compiles)
}

function isOfDomain({ actions }: RuleRecord, domain: Domain): boolean {
  return actions.every((action) => domainOf(action) === domain)
}

function hasSameResources(rule: RuleRecord, old: RuleRecord): boolean {
  const [action] = old.actions
  return (
    rule.resources === old.resources && action !== undefined && isOfDomain(rule, domainOf(action))
  )
}

/** Returns the problems of a single rule, which are searched once. */
function findProblems(known: KnownRules, rule: RuleRecord): RuleProblems {
  const found = knownRule(known, rule)
  found.problems ??= checkWithAndWithoutLimits(rule)
  return found.problems
}

function checkWithAndWithoutLimits(rule: RuleRecord): RuleProblems {
  const all = checkRule(rule)
  if (all.length === 0) return NO_PROBLEMS
  return { all, compiles: checkRule(rule, { patternLimits: false }).length === 0 }
}

/** Throws 400 unless the rule compiles on its own and its new patterns are within the limits. */
function requireCompilableRule(known: KnownRules, rule: RuleRecord, old: RuleRecord | null): void {
  const { all, compiles } = findProblems(known, rule)
  const stored = new Set(compiles ? old?.resources : [])
  const problem = all.find(({ member }) => {
    const index = /^resources\[(\d+)\]$/.exec(member)?.[1]
    return index === undefined || !stored.has(rule.resources[Number(index)] ?? '')
  })
  if (problem !== undefined)
    throw invalidArgument(problem.message, { field: problem.member, reason: problem.reason })
}

/**
 * Throws 400 unless the policy compiles; `field` gives the position among its rules. `old` is the
 * stored policy, or null for a new one.
 */
export function requireCompilablePolicy(
  known: KnownRules,
  policy: PolicyRecord,
  old: PolicyRecord | null,
): void {
  const stored = new Map(old?.rules.map((rule) => [rule.id, rule]))
  for (const [index, rule] of policy.rules.entries())
    if (isBeyondLimits(known, rule))
      withinField(`rules[${index}]`, () =>
        requireCompilableRule(known, rule, stored.get(rule.id) ?? null),
      )
  if (isCompilable(known, policy.rules)) return
  const problem = findProblem(policy)
  if (problem === null) return
  const index = policy.rules.findIndex(({ id }) => id === problem.rule_id)
  const rule = policy.rules[index]
  if (rule === undefined) throw invalidArgument(problem.message)
  withinField(`rules[${index}]`, () => {
    requireCompilableRule(known, rule, null)
    throw invalidArgument(problem.message, { field: problem.member })
  })
}

function isBeyondLimits(known: KnownRules, rule: RuleRecord): boolean {
  const { all, compiles } = findProblems(known, rule)
  return compiles && all.length > 0
}

/** Returns the first problem that keeps the policy from compiling. */
function findProblem(
  policy: PolicyRecord,
): Pick<PolicyProblem, 'rule_id' | 'member' | 'message'> | null {
  try {
    compilePolicy({ policies: [formatPolicy(policy)] }, { patternLimits: false })
    return null
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    return error.problems[0] ?? { rule_id: '', member: '', message: error.message }
  }
}
