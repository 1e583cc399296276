import type { Grant } from '../policy/grant.ts'
import type { Policy } from '../policy/policy.ts'

/**
 * All inputs of an evaluation besides the request. Other members are refused. Teams apply
 * beforehand: evaluation ignores the `scope` of these policies.
 */
export interface PolicySet {
  /** Policies for the user: `effectivePolicies(policies, teams)`. `lint` expects all policies. */
  readonly policies?: readonly Policy[] | undefined
  /** The user's own policies; on a governed machine only their denies count. Scope is ignored. */
  readonly local?: readonly Policy[] | undefined
  /** Access grants of the user; they count on a governed machine only. */
  readonly grants?: readonly Grant[] | undefined
  /** Whether an organization governs the machine. Default: true when `policies` is present. */
  readonly governed?: boolean | undefined
  /** Canonical absolute path that `~` stands for; without it rules with `~` match nothing. */
  readonly home?: string | undefined
  /** The machine's own addresses, which are protected. Any IP spelling. */
  readonly machine_addresses?: readonly string[] | undefined
  /** Whether enforcement points resolve names that no rule allows. Default false. */
  readonly resolve_unlisted_names?: boolean | undefined
  /**
   * `enforce` or `observe`. On a governed machine that observes, a request that no rule in force
   * matches is allowed with `observed`; denies and protected addresses deny as ever. Absent or any
   * other value means `enforce`.
   */
  readonly default?: string | undefined
  /** Revision of the bundle, echoed in every decision. Default null. */
  readonly revision?: number | null | undefined
}

/** Options for reading policies. */
export interface CompileOptions {
  /** False for file systems that ignore letter case. Default true. */
  readonly caseSensitive?: boolean | undefined
  /**
   * Whether to refuse a path pattern with more than 32 `**` or 64 other `*`, and a set whose path
   * patterns together cost more than `MAX_PATH_COST`. False lifts the limits, for policies of
   * trusted authors or policies that are already checked. The cost of a decision is then unbounded.
   * Default true.
   */
  readonly patternLimits?: boolean | undefined
}
