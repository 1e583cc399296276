import { checkRule, compilePolicy, PolicyError } from '@palisade/policy-core'
import { invalidArgument } from '../http/api-error.ts'
import type { PolicyRecord, RuleRecord } from '../store/records.ts'
import { formatPolicy } from './format-policy.ts'

/**
 * Throws 400 unless `rule`, and then the whole policy as it would become, compiles: what a machine
 * could not enforce is never stored.
 */
export function requireCompilable(policy: PolicyRecord, rule: RuleRecord): void {
  const [problem] = checkRule(rule)
  if (problem !== undefined)
    throw invalidArgument(problem.message, { field: problem.member, reason: problem.reason })
  try {
    compilePolicy({ policies: [formatPolicy(policy)] })
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const [first] = error.problems
    throw invalidArgument(first?.message ?? error.message, {
      field: first?.rule_id === rule.id ? first.member : undefined,
    })
  }
}
