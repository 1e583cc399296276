import type { PolicyProblem } from '../errors.ts'
import type { PatternReader } from '../pattern/pattern-reader.ts'
import { checkInstant, checkRuleWith, type RuleProblem } from '../policy/check-rule.ts'
import { GRANT_POLICY, type Grant } from '../policy/grant.ts'
import { show } from '../quote.ts'

/** Finds all problems that prevent grants from compiling. It checks types too, as for policies. */
export function findGrantProblems(
  grants: readonly Grant[],
  reader: PatternReader,
): PolicyProblem[] {
  // Not `flatMap` of the list itself, which skips the holes of a sparse array.
  return Array.from(grants, (grant, index) => findInGrant(grant, index, reader)).flat()
}

function findInGrant(grant: unknown, index: number, reader: PatternReader): PolicyProblem[] {
  const path = `grants[${index}]`
  if (typeof grant !== 'object' || grant === null || Array.isArray(grant))
    return [problemOf('', { member: path, message: `${show(grant)} is not an object` })]
  const { id, action, resources, not_before, expires_at } = grant as Record<string, unknown>
  if (typeof id !== 'string')
    return [problemOf('', { member: `${path}.id`, message: `${show(id)} is not a string` })]
  const rule = { actions: [action], decision: 'allow', resources } as Parameters<
    typeof checkRuleWith
  >[1]
  const problems = checkRuleWith(reader, rule)
  // Both times are required: a grant without end would be a rule.
  checkInstant('not_before', not_before, problems)
  checkInstant('expires_at', expires_at, problems)
  return problems.map((problem) => problemOf(id, problem))
}

function problemOf(id: string, { member, message }: RuleProblem): PolicyProblem {
  return {
    origin: 'grant',
    policy_id: GRANT_POLICY.id,
    policy_name: GRANT_POLICY.name,
    rule_id: id,
    rule_name: id,
    member: member === 'actions' ? 'action' : member,
    message,
  }
}
