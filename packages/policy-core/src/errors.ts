import type { Origin } from './policy/decision.ts'

/** A fault in a set of policies: its position and a message with the correction. */
export interface PolicyProblem {
  readonly origin: Origin
  readonly policy_id: string
  readonly policy_name: string
  readonly rule_id: string
  readonly rule_name: string
  /** The member at fault, such as `actions` or `resources[2]`; ids and names are empty above it. */
  readonly member: string
  /** Lower-case sentence without a full stop; user input is in back-ticks. */
  readonly message: string
}

/**
 * Every error that policy-core throws. Decisions never throw.
 *
 * - `ERR_POLICY_INVALID`: policies that cannot be compiled; `problems` lists all of them.
 * - `ERR_OPTION_INVALID`: an argument, or a member of a policy set or of options, is invalid; the
 *   message begins with its name.
 */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
  readonly code: 'ERR_POLICY_INVALID' | 'ERR_OPTION_INVALID'
  readonly problems: readonly PolicyProblem[]

  constructor(code: PolicyError['code'], message: string, problems: readonly PolicyProblem[] = []) {
    super(message)
    this.code = code
    this.problems = problems
  }
}
