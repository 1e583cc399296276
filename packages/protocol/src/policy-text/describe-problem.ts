import type { PolicyProblem } from '@palisade/policy-core'

/** One line for a fault of a rule that has ids, without the name of its file. */
export function describeProblem(problem: PolicyProblem): string {
  const policy = problem.origin === 'local' ? 'local policy' : 'policy'
  return (
    `${policy} \`${problem.policy_name}\` (${problem.policy_id}) ` +
    `rule \`${problem.rule_name}\` (${problem.rule_id}): ${problem.member}: ${problem.message}`
  )
}
