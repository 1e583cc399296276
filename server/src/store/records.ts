import type { Action, RuleDecision } from '@palisade/policy-core'
import type {
  DefaultDecision,
  DeliveryState,
  HistoryEvent,
  Permission,
  PolicyMode,
  Role,
} from '@palisade/protocol'
import type { JWK } from 'jose'

/**
 * Rows as the rest of the server sees them. Every instant is an RFC 3339 UTC string made by the
 * caller; those named `expires_at` carry milliseconds (`Date.toISOString`), so that they compare
 * as text.
 */
export interface OrganizationRecord {
  readonly name: string
  /** Whether the organization may use governance at all. */
  readonly entitled: boolean
  /** Counts every change that a device or a policy reader could notice; only grows. */
  readonly revision: number
  readonly resolve_unlisted_names: boolean
  /** For requests that no rule matches; absent until the organization chooses one. */
  readonly default?: DefaultDecision
  /** Shown after each denial by the organization's policies; absent for no text. */
  readonly support_message?: string
  readonly created_at: string
}

export interface UserRecord {
  readonly username: string
  /** PHC-like string, or null for a user without a password. */
  readonly password_hash: string | null
  /** Counts the passwords that there have been; a session of an earlier one is over. */
  readonly password_generation: number
  /**
   * Sessions of an external issuer from before then are over (`Date.toISOString`); null: no limit.
   */
  readonly external_not_before: string | null
  /** `iat` of the issuer's token whose teams the user has, in seconds; null before the first. */
  readonly teams_synced_iat: number | null
  /** Wrong passwords and refused attempts, as far as the history has them. */
  readonly failed_sign_ins: number
  readonly created_at: string
}

export interface MembershipRecord {
  readonly org: string
  readonly username: string
  readonly role: Role
}

/** A user whom an organization has invited and who has not answered yet. */
export interface InvitationRecord extends MembershipRecord {
  /** `Author.actor` */
  readonly invited_by: string
  readonly created_at: string
}

export interface TeamRecord {
  /** Lower-case UUID. */
  readonly id: string
  readonly org: string
  readonly name: string
  /** For its members; absent while the team has no say. */
  readonly default?: DefaultDecision
}

/** A rule with its verbatim patterns; its position in the policy is that of its insertion. */
export interface RuleRecord {
  readonly id: string
  readonly name: string
  readonly actions: readonly Action[]
  readonly decision: RuleDecision
  readonly resources: readonly string[]
  /** `Date.toISOString`; absent for a rule that never expires. */
  readonly expires_at?: string
}

/**
 * A policy without its rules. `formatPolicy` in `aggregates/policies/format-policy.ts` makes the
 * wire form.
 */
export interface PolicyHeadRecord {
  readonly id: string
  readonly org: string
  readonly name: string
  /** Team UUIDs in the order given; empty for the whole organization. */
  readonly teams: readonly string[]
  /** Absent for a policy that enforces. */
  readonly mode?: Exclude<PolicyMode, 'enforce'>
  readonly created_at: string
  readonly updated_at: string
  /** The organization's revision at the last change of this policy or its rules; the ETag. */
  readonly revision: number
}

export interface PolicyRecord extends PolicyHeadRecord {
  readonly rules: readonly RuleRecord[]
}

interface AccessTokenFields {
  readonly id: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /** Lower-case hexadecimal SHA-256 of the secret. */
  readonly secret_hash: string
  readonly created_at: string
  readonly expires_at: string
  readonly revoked_at: string | null
  /**
   * The token whose session made this one; null when it was made with a password or by an operator.
   */
  readonly parent_id: string | null
  /** The first characters of the secret, to know it by. */
  readonly prefix: string
  /** `Author.actor` of its maker. */
  readonly created_by: string
  /** To the minute; null when it has not been used. */
  readonly last_used_at: string | null
}
export interface PersonalTokenRecord extends AccessTokenFields {
  readonly kind: 'personal'
  readonly username: string
}
export interface OrganizationTokenRecord extends AccessTokenFields {
  readonly kind: 'organization'
  readonly org: string
}
export type AccessTokenRecord = PersonalTokenRecord | OrganizationTokenRecord

export type KeyPurpose = 'access_token'

export interface SigningKeyRecord {
  readonly kid: string
  readonly purpose: KeyPurpose
  /** Without its private part (`d`) from the moment that the key signs no more. */
  readonly private_jwk: JWK
  readonly created_at: string
  /**
   * Null while the key signs; then the time at which its signatures expire (`Date.toISOString`).
   */
  readonly verifies_until: string | null
}

/** The first answer to a POST with an idempotency key. */
export interface IdempotencyRecord {
  /** Everything that the key belongs to: caller, organization, method, path and the key itself. */
  readonly scope: string
  /** The caller, in the form of an author's `actor`. */
  readonly caller: string
  readonly body_hash: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly expires_at: string
}

/** One change of one organization, as the feed shows it. */
export type EventRecord = Readonly<HistoryEvent>

/** The newest event of an organization; kept apart, so that one cut off at the end is missed. */
export interface EventHead {
  readonly sequence: number
  readonly hash: string
}

/** Where the events of an organization are delivered to. */
export interface WebhookRecord {
  readonly id: string
  readonly org: string
  readonly url: string
  readonly enabled: boolean
  /** `whsec_` and base64; in clear text, because it signs. */
  readonly secret: string
  readonly secret_created_at: string
  /** Also signs until `previous_secret_until`; null when the secret was never replaced. */
  readonly previous_secret: string | null
  readonly previous_secret_until: string | null
  readonly created_at: string
}

/** The outcome of one event for one webhook. */
export interface DeliveryRecord {
  readonly webhook_id: string
  readonly sequence: number
  readonly state: DeliveryState
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly attempted_at: string | null
  readonly next_attempt_at: string | null
}
