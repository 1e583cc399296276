import type { Reason, RuleMatch } from '../policy/decision.ts'
import type { RuleDecision } from '../policy/policy.ts'

/** The result of an evaluation, from which `answer` builds the decision object. */
export interface Verdict {
  readonly decision: RuleDecision
  readonly reason: Reason
  /** The deciding rules by policy id, then rule id; frozen, because decisions share it. */
  readonly rules: readonly RuleMatch[]
}

const NO_RULES: readonly RuleMatch[] = Object.freeze([])
export const DEFAULT_DENY: Verdict = denyFor('default_deny')

/** A deny that no rule decides. */
export function denyFor(reason: Reason): Verdict {
  return { decision: 'deny', reason, rules: NO_RULES }
}
