import type { CanonicalRequest, Decision, RuleMatch } from '../decision/decision.ts'
import type { Action } from '../policy/policy.ts'

/** A region of requests, in patterns as rules write them. */
export interface ComparedRegion {
  readonly action: Action
  /**
   * Matches as an allow rule with this resource: a protected address is meant only when the
   * resource opens it. For names it speaks of the request without an address, for addresses of the
   * IP literal; unless `only` says otherwise.
   */
  readonly resource: string
  /** Only what a deny rule with this resource would match too: IPv4 also inside IPv6. */
  readonly within?: string
  /**
   * What of `resource` is meant, where allowed means: by the policy that allows more here, on the
   * port of the request.
   *
   * - `allowed`: every request that is allowed and that a deny rule with `resource` matches, alone
   *   or in one of its halves; said when single patterns would be too many.
   * - `with_allowed_address`: the names together with an address that is allowed.
   * - `with_allowed_name`: the addresses together with a name that is allowed; `resource` matches
   *   as a deny rule does, and never a protected address.
   */
  readonly only?: 'allowed' | 'with_allowed_name' | 'with_allowed_address'
}

/** One way in which decisions changed. */
export interface Change extends ComparedRegion {
  /**
   * Patterns that leave parts out: what both policies allow, which matches like an allow rule, and
   * what both deny, which matches like a deny rule. An IPv6 address that carries several IPv4
   * addresses is left out as well when one of them is denied. A part that is left out and did
   * change has a change of its own.
   */
  readonly except: { readonly allowed: readonly string[]; readonly denied: readonly string[] }
  /** A request that was decided in another way before. */
  readonly example: CanonicalRequest
  /**
   * Allows that came and denies that went, or the reverse; empty where only an address of the
   * machine did.
   */
  readonly rules: readonly RuleMatch[]
}

/** What another policy means for people and programs: each list as short as it can be. */
export interface Comparison {
  /** Denied before, allowed after. */
  readonly reachable: readonly Change[]
  /** Allowed before, denied after. */
  readonly blocked: readonly Change[]
  /** False when the budget was used up before everything was decided. */
  readonly complete: boolean
  /** What was not decided then: something in it may have changed. */
  readonly undecided: readonly ComparedRegion[]
}

/** Whether any request at all is allowed by one policy and was not by the other. */
export type NoWider =
  | { readonly answer: 'yes' }
  | {
      readonly answer: 'no'
      readonly witness: CanonicalRequest
      readonly before: Decision
      readonly after: Decision
    }
  /** The budget was used up before all was looked at, and no such request was found. */
  | { readonly answer: 'unknown'; readonly why: string }

/** How much work a comparison may be. */
export interface CompareOptions {
  /**
   * Steps after which a comparison gives up what is left; a million take up to a second and a half
   * of processor time. Any comparison may take half a second more, to read two policies of 1 MB and
   * to leave out questions. A comparison that is complete stays complete with more steps.
   * One new rule among 25,000 takes from a few thousand steps to a few million. Default 10,000,000.
   */
  readonly maxSteps?: number | undefined
}
