import type { Policy } from '../policy/policy.ts'

/**
 * Everything an evaluation depends on, besides the request. It has no other members. Teams have
 * their say before it: `scope` of the policies given here is not looked at any more.
 */
export interface PolicySet {
  /** Those that apply to the user: `effectivePolicies(policies, teams)`. `lint` wants all. */
  readonly policies?: readonly Policy[] | undefined
  /** The user's own policies; on a governed machine only their denies count. Scope is ignored. */
  readonly local?: readonly Policy[] | undefined
  /** Whether an organization governs the machine. Default: true when `policies` is present. */
  readonly governed?: boolean | undefined
  /** Canonical absolute path that `~` stands for; without it rules with `~` match nothing. */
  readonly home?: string | undefined
  /** The machine's own addresses, which are protected. Any IP spelling. */
  readonly machine_addresses?: readonly string[] | undefined
  /** Whether enforcement points resolve names that no rule allows. Default false. */
  readonly resolve_unlisted_names?: boolean | undefined
  /** Revision of the bundle, echoed in every decision. Default null. */
  readonly revision?: number | null | undefined
}

/** How policies are read, besides what they say. */
export interface CompileOptions {
  /** False for file systems that ignore letter case. Default true. */
  readonly caseSensitive?: boolean | undefined
  /**
   * Whether a path pattern with more than 32 `**` or 64 other `*` is refused, and a set whose path
   * patterns together cost more than `MAX_PATH_COST`. False lifts the limits, for policies of
   * trusted authors or those that were checked before: what a decision may cost is then open.
   * Default true.
   */
  readonly patternLimits?: boolean | undefined
}
