import { checkRule, compilePolicy, PolicyError, type PolicyProblem } from '@palisade/policy-core'
import { invalidArgument } from '../http/api-error.ts'
import { withinField } from '../http/within-field.ts'
import type { PolicyRecord, RuleRecord } from '../store/records.ts'
import { formatPolicy } from './format-policy.ts'

/**
 * Throws 400 unless `rule`, and then the whole policy as it would become, compiles: what a machine
 * could not enforce is never stored.
 */
export function requireCompilable(policy: PolicyRecord, rule: RuleRecord): void {
  requireCompilableRule(rule)
  const problem = findProblem(policy)
  if (problem === null) return
  const field = problem.rule_id === rule.id ? problem.member : undefined
  throw invalidArgument(problem.message, { field })
}

/** Throws 400 unless the rule compiles by itself. */
function requireCompilableRule(rule: RuleRecord): void {
  const [problem] = checkRule(rule)
  if (problem !== undefined)
    throw invalidArgument(problem.message, { field: problem.member, reason: problem.reason })
}

/**
 * Throws 400 unless the policy compiles; `field` names the place among its rules. Of a large policy
 * each pattern is read once, where `requireCompilable` for every rule would read them all again.
 */
export function requireCompilablePolicy(policy: PolicyRecord): void {
  const problem = findProblem(policy)
  if (problem === null) return
  const index = policy.rules.findIndex(({ id }) => id === problem.rule_id)
  const rule = policy.rules[index]
  if (rule === undefined) throw invalidArgument(problem.message)
  withinField(`rules[${index}]`, () => {
    requireCompilableRule(rule)
    throw invalidArgument(problem.message, { field: problem.member })
  })
}

/** The first thing that keeps the policy from being compiled. */
function findProblem(
  policy: PolicyRecord,
): Pick<PolicyProblem, 'rule_id' | 'member' | 'message'> | null {
  try {
    compilePolicy({ policies: [formatPolicy(policy)] })
    return null
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    return error.problems[0] ?? { rule_id: '', member: '', message: error.message }
  }
}
