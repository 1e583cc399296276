import type { Action, CanonicalRequest, Decision, RuleMatch } from '@palisade/policy-core'

/** A region of requests, in patterns as rules write them. */
export interface ComparedRegion {
  readonly action: Action
  /**
   * Matches like an allow rule with this resource, so it includes a protected address only if the
   * resource opens it. A name stands for requests without an address, and an address for IP
   * literals, unless `only` says otherwise.
   */
  readonly resource: string
  /** Limits the region to matches of a deny rule with this resource, also of IPv4 inside IPv6. */
  readonly within?: string
  /**
   * Limits the region to a part of `resource`. "Allowed" means by the policy that allows more here,
   * on the port of the request.
   *
   * - `allowed`: every request that is allowed and that a deny rule with `resource` matches, as a
   *   whole or by its name or address. Replaces single patterns when there are too many of them.
   * - `with_allowed_address`: the names together with an address that is allowed.
   * - `with_allowed_name`: the addresses together with a name that is allowed; `resource` matches
   *   as a deny rule does, and never a protected address.
   */
  readonly only?: 'allowed' | 'with_allowed_name' | 'with_allowed_address'
}

/** One difference in decisions. */
export interface Change extends ComparedRegion {
  /**
   * Patterns that exclude parts of the region: `allowed` by both policies, matched like an allow
   * rule, and `denied` by both, matched like a deny rule. An IPv6 address that carries several IPv4
   * addresses is also excluded when one of them is denied. An excluded part that did change has a
   * change of its own.
   */
  readonly except: { readonly allowed: readonly string[]; readonly denied: readonly string[] }
  /** A request whose decision differs. */
  readonly example: CanonicalRequest
  /**
   * Added allows and removed denies, or the reverse. Empty when only an address of the machine
   * changed.
   */
  readonly rules: readonly RuleMatch[]
}

/** The effect of a policy change. Each list is as short as possible. */
export interface Comparison {
  /** Denied before, allowed after. */
  readonly reachable: readonly Change[]
  /** Allowed before, denied after. */
  readonly blocked: readonly Change[]
  /** False when the budget was used up before everything was decided. */
  readonly complete: boolean
  /** Regions that were not decided: some of their requests may have changed. */
  readonly undecided: readonly ComparedRegion[]
}

/** Whether some request is allowed by one policy and denied by the other. */
export type NoWider =
  | { readonly answer: 'yes' }
  | {
      readonly answer: 'no'
      readonly witness: CanonicalRequest
      /** The time of both decisions in milliseconds since 1970; absent unless `now` was given. */
      readonly at?: number
      readonly before: Decision
      readonly after: Decision
    }
  /** The budget was used up before the search ended, and no such request was found. */
  | { readonly answer: 'unknown'; readonly why: string }

/** Limits for the work of a comparison. */
export interface CompareOptions {
  /**
   * Maximum number of steps. A million steps take up to a second and a half of processor time.
   * Reading two policies of 1 MB and leaving out questions may add half a second. A complete
   * comparison stays complete with more steps. One new rule among 25,000 takes from a few thousand
   * steps to a few million. Default 10,000,000.
   */
  readonly maxSteps?: number | undefined
  /** The time as in `DecideOptions`. Required when a rule of either policy expires. */
  readonly now?: number | undefined
}
