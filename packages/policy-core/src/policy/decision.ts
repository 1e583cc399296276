import type { FilesystemAction, NetworkAction, RuleDecision } from './policy.ts'

const ALL_REASONS = [
  'rule',
  'default_deny',
  'observed',
  'protected_address',
  'invalid_request',
  'no_policy',
  'policy_expired',
  'unsupported_policy',
] as const

/** Reasons for a decision. */
export const REASONS: typeof ALL_REASONS = /* @__PURE__ */ Object.freeze(ALL_REASONS)

/**
 * - `rule`: rules decided; a decision lists all of them.
 * - `default_deny`: no rule in force matched.
 * - `observed`: an allow, because no rule in force matched and the organization only observes.
 * - `protected_address`: loopback, link-local, cloud metadata and the like. Only an allow of the
 *   address itself or of a range inside its class opens it.
 * - `invalid_request`: host, address, port, path or action cannot be read.
 * - `no_policy`, `policy_expired`, `unsupported_policy`: no policy could be evaluated.
 */
export type Reason = (typeof ALL_REASONS)[number]

/** States of a machine in which no policy can be evaluated, so every request is denied. */
export type UnavailableReason = 'no_policy' | 'policy_expired' | 'unsupported_policy'

/**
 * Author of a rule: the organization, the user of the machine, whose rules can only tighten, or an
 * access grant of the organization. The rule of a grant has the id of the grant.
 */
export type Origin = 'org' | 'local' | 'grant'

/** A request as callers write it, in any spelling: `{...} satisfies DecisionRequest`. */
export type DecisionRequest =
  | {
      readonly action: NetworkAction
      /** A name or an IP address, without brackets. */
      readonly host: string
      /** 1 to 65535. */
      readonly port: number
      /** An address that the name resolved to; absent before resolution. */
      readonly address?: string | undefined
    }
  | {
      readonly action: FilesystemAction
      /** Absolute and without `.` or `..`. */
      readonly path: string
    }

/** A connect request in canonical form; `address` is the evaluated address, if any. */
export interface ConnectRequest {
  readonly action: NetworkAction
  /** Lower-case A-label name, dotted-decimal IPv4, or RFC 5952 IPv6 without brackets. */
  readonly host: string
  /** 1 to 65535. */
  readonly port: number
  readonly address?: string
}

/** A filesystem request in canonical form. */
export interface PathRequest {
  readonly action: FilesystemAction
  readonly path: string
}

/** The decided request. Every spelling of one request has the same canonical form. */
export type CanonicalRequest = ConnectRequest | PathRequest

/** A rule that matched, with its first matching resource. */
export interface RuleMatch {
  readonly policy_id: string
  readonly policy_name: string
  readonly rule_id: string
  readonly rule_name: string
  readonly decision: RuleDecision
  /** The pattern as written. */
  readonly resource: string
  readonly origin: Origin
}

/** A decision that shadow policies would bring about, in the members of `Decision`. */
export type ShadowDecision = Pick<Decision, 'decision' | 'reason' | 'rules' | 'address_required'>

/** The answer to one request. Library, local API, proxy, command and log share this shape. */
export interface Decision {
  readonly decision: RuleDecision
  readonly reason: Reason
  /** The deciding rules, by policy id, then rule id; empty for every reason but `rule`. */
  readonly rules: readonly RuleMatch[]
  /**
   * The decision if every shadow policy were enforced. Present only where it has another decision
   * or reason, or where an address could change only one of the two.
   */
  readonly shadow?: ShadowDecision
  /** The canonical request, or null when it could not be made canonical (`invalid_request`). */
  readonly request: CanonicalRequest | null
  /** Revision of the bundle that decided; null for policies without a bundle. */
  readonly revision: number | null
  /** True when the bundle is older than its freshness limit. */
  readonly stale: boolean
  /** Present on a name request without an address whose outcome an address could change. */
  readonly address_required?: true
  /**
   * A hint for people: the narrowest rule that would change a deny. For a name that resolves to a
   * protected address, a sentence that says so. Otherwise null. On a governed machine only editors
   * of the organization can add the rule.
   */
  readonly hint: string | null
}

/** A rule that came close to allowing a request, with the reason why it did not. */
export interface NearMiss extends RuleMatch {
  readonly miss:
    | 'apex_not_covered'
    | 'subdomain_not_covered'
    | 'too_many_labels'
    | 'other_port'
    | 'other_action'
    | 'directory_not_covered'
    | 'contents_not_covered'
    | 'too_many_segments'
    | 'letter_case'
    | 'inactive'
    | 'expired'
    | 'not_begun'
    | 'spent'
    | 'shadow'
  /** One sentence for people. */
  readonly message: string
}

/** A rule that matched, with its effect on the decision. */
export interface MatchedRule extends RuleMatch {
  /** True when the rule is among the deciding ones. */
  readonly deciding: boolean
  /**
   * False for a local allow on a machine that the organization governs, for an expired rule, for a
   * grant that has not begun, and for a rule of a shadow policy.
   */
  readonly active: boolean
  /** True when the rule has expired; otherwise absent. */
  readonly expired?: true
  /** True when the grant has not begun; otherwise absent. */
  readonly not_begun?: true
  /** True when the grant was for one use, which is spent; otherwise absent. */
  readonly spent?: true
  /** True when the policy of the rule is a shadow policy; otherwise absent. */
  readonly shadow?: true
}

/** A decision with every matching rule and, for a default deny, the near misses. */
export interface Explanation extends Decision {
  readonly matched: readonly MatchedRule[]
  readonly near_misses: readonly NearMiss[]
  /**
   * The fault of an invalid request, or the protected class of an address; else null.
   */
  readonly detail: string | null
}
