import { runSelfTest, type Policy, type SelfTestFailure, type Steps } from '@palisade/policy-core'
import { readSelfTest } from '@palisade/protocol'
import type { CompiledBundle } from './compile-bundle.ts'

/** The server's own decisions on a policy, to check that this machine agrees. */
export interface SelfTest {
  readonly policy: Policy
  /** The vectors as received with the policy; parsed on use and not kept. */
  readonly selfTest: unknown
}

const MAX_RULES_NAMED = 3

/**
 * Runs the self-tests of every policy against the compiled set, one policy a step. Returns the
 * first failure, or null. Every bundle runs all of them, because policies share their indices.
 */
export function* testBundle(
  { compiled, home }: Pick<CompiledBundle, 'compiled' | 'home'>,
  selfTests: readonly SelfTest[],
): Steps<string | null> {
  const subject = home === null ? { compiled } : { compiled, home }
  for (const { policy, selfTest } of selfTests) {
    yield
    const vectors = readSelfTest(selfTest)
    if (vectors === null)
      return `the self-test of policy \`${policy.id}\` cannot be read; update the agent`
    const failure = runSelfTest(subject, policy, vectors)
    if (failure !== null) return describe(failure)
  }
  return null
}

/**
 * Names the rules first, because reports are truncated. Shows the path of the vector, because home
 * directories are named after people.
 */
function describe({ policy_id, vector, match, miss, decision }: SelfTestFailure): string {
  const named = new Set(
    decision.rules.filter((rule) => rule.policy_id === policy_id).map(({ rule_id }) => rule_id),
  )
  const expected = match.length === 0 ? 'no rule' : listed(match)
  const wrong = miss.filter((id) => named.has(id))
  const not = wrong.length === 0 ? '' : `, not ${listed(wrong)}`
  const by = named.size === 0 ? decision.reason : listed([...named])
  const target = vector.kind === 'path' ? vector.path : `${vector.host} ${vector.port}`
  return (
    `policy \`${policy_id}\` is read differently by the server: ${expected} must match${not}, ` +
    `but this agent decides ${decision.decision} by ${by} for ` +
    `\`${vector.action} ${target}\`; update the agent`
  )
}

function listed(ids: readonly string[]): string {
  const shown = ids.slice(0, MAX_RULES_NAMED).map((id) => `\`${id}\``)
  return ids.length > shown.length
    ? `${shown.join(', ')} and ${ids.length - shown.length} more`
    : shown.join(', ')
}
