import { checkRule, compilePolicy, PolicyError, type PolicyProblem } from '@palisade/policy-core'
import { invalidArgument } from '../http/api-error.ts'
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
export function requireCompilableRule(rule: Omit<RuleRecord, 'id'>): void {
  const [problem] = checkRule(rule)
  if (problem !== undefined)
    throw invalidArgument(problem.message, { field: problem.member, reason: problem.reason })
}

/** Throws 400 unless the policy compiles; `field` names the place among its rules. */
export function requireCompilablePolicy(policy: PolicyRecord): void {
  const problem = findProblem(policy)
  if (problem === null) return
  const index = policy.rules.findIndex(({ id }) => id === problem.rule_id)
  const field = index < 0 ? undefined : `rules[${index}].${problem.member}`
  throw invalidArgument(problem.message, { field })
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
