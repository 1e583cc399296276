import type { Action, RuleDecision } from '@palisade/policy-core'
import type {
  AgentState,
  DeliveryState,
  HistoryEvent,
  Permission,
  RejectionLimit,
  Role,
  RolloutStage,
  RolloutState,
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
  readonly created_at: string
}

export interface UserRecord {
  readonly username: string
  /** PHC-like string, or null for a user who cannot sign in with a password. */
  readonly password_hash: string | null
  /** Counts the passwords that there have been; a session of an earlier one is over. */
  readonly password_generation: number
  /** Sessions of an external issuer from before then are over (`Date.toISOString`); null for none. */
  readonly external_not_before: string | null
  readonly created_at: string
}

export interface MembershipRecord {
  readonly org: string
  readonly username: string
  readonly role: Role
}

export interface TeamRecord {
  /** Lower-case UUID. */
  readonly id: string
  readonly org: string
  readonly name: string
}

/** A rule with its verbatim patterns; its place in the policy is that of its insertion. */
export interface RuleRecord {
  readonly id: string
  readonly name: string
  readonly actions: readonly Action[]
  readonly decision: RuleDecision
  readonly resources: readonly string[]
}

/** A policy without its rules. `formatPolicy` in `governance/format-policy.ts` makes the wire form. */
export interface PolicyHeadRecord {
  readonly id: string
  readonly org: string
  readonly name: string
  /** Team UUIDs in the order given; empty for the whole organization. */
  readonly teams: readonly string[]
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
  /** The token whose session made this one; null when it was made with a password or by an operator. */
  readonly parent_id: string | null
  /** The first characters of the secret, to know it by; null for one of an older release. */
  readonly prefix: string | null
  /** `Author.actor` of whoever made it; null for one of an older release. */
  readonly created_by: string | null
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

/** What a machine may enrol itself with. */
export interface EnrolmentTokenRecord {
  readonly id: string
  readonly org: string
  readonly name: string
  readonly labels: readonly string[]
  /** Lower-case hexadecimal SHA-256 of the secret. */
  readonly secret_hash: string
  /** The first characters of the secret, to know it by. */
  readonly prefix: string
  /** Of the root whose hash stands in the token. */
  readonly root_version: number
  readonly max_uses: number
  /** Never above `max_uses`. */
  readonly uses: number
  readonly last_used_at: string | null
  readonly created_at: string
  /** `Author.actor` of whoever made it. */
  readonly created_by: string
  /** The access token whose session made this one; null when it was made with a password. */
  readonly parent_id: string | null
  readonly expires_at: string
  readonly revoked_at: string | null
}

export interface DeviceRecord {
  readonly id: string
  readonly org: string
  readonly username: string | null
  /** Of its key (RFC 7638); null for one of an earlier release, which has to be enrolled again. */
  readonly thumbprint: string | null
  readonly labels: readonly string[]
  /** What it enrolled itself with; null when somebody who had signed in did it. */
  readonly enrolment_token_id: string | null
  readonly created_at: string
  readonly revoked_at: string | null
}

/** What a device last said of itself. */
export interface DeviceReportRecord {
  readonly device_id: string
  /** When the server was told, as `Date.toISOString`. */
  readonly reported_at: string
  readonly revision: number | null
  readonly state: AgentState
  /** Null, as is its detail, when the last attempt to fetch went well. */
  readonly error_code: string | null
  readonly error_detail: string | null
  /** Null, as is when it was begun, while no break-glass grant is in force. */
  readonly grant_id: string | null
  readonly grant_begun_at: string | null
  readonly agent_version: string
}

/** A break-glass grant that was issued; the signed file itself is not kept. */
export interface GrantRecord {
  readonly id: string
  readonly org: string
  readonly device_id: string
  readonly reason: string
  /** `Author.actor` of whoever issued it. */
  readonly issued_by: string
  readonly issued_at: string
  /** It must be begun before then (`Date.toISOString`). */
  readonly use_by: string
  readonly duration_seconds: number
  /** From then on it can neither be begun nor be in force (`Date.toISOString`). */
  readonly over_at: string
}

/** `bundle` keys are of earlier releases; nothing signs with them any more. */
export type KeyPurpose = 'access_token' | 'bundle'

export interface SigningKeyRecord {
  readonly kid: string
  readonly purpose: KeyPurpose
  /** Without its private part (`d`) from the moment that the key signs no more. */
  readonly private_jwk: JWK
  readonly created_at: string
  /** Null while the key signs; then when what it signed stops being good (`Date.toISOString`). */
  readonly verifies_until: string | null
}

/** The first answer to a POST with an idempotency key. */
export interface IdempotencyRecord {
  /** Everything that the key belongs to: caller, organization, method, path and the key itself. */
  readonly scope: string
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
  /** Signs as well until `previous_secret_until`; null when there was none. */
  readonly previous_secret: string | null
  readonly previous_secret_until: string | null
  readonly created_at: string
}

/** What became of one event for one webhook. */
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

export type DistributionRole = 'root' | 'targets' | 'online'

/** A key that signs what the machines of one organization enforce; `online` is for two roles. */
export interface DistributionKeyRecord {
  /** Key id of TUF: SHA-256 of the public key in canonical JSON. */
  readonly kid: string
  readonly org: string
  readonly role: DistributionRole
  /** Without `d` where the private part is kept apart from the server, as that of a root may be. */
  readonly private_jwk: JWK
  readonly created_at: string
}

export interface RootRecord {
  readonly org: string
  readonly version: number
  /** As it is served. */
  readonly body: Uint8Array
  readonly expires_at: string
}

/** The newest signed metadata of one set of teams; times as `Date.toISOString`. */
export interface ViewRecord {
  readonly org: string
  /** 32 hexadecimal digits. */
  readonly id: string
  /** The organization's revision when the content last became another. */
  readonly revision: number
  /** Of everything in the targets file but its version and life. */
  readonly content_hash: string
  /** Of the root whose keys have signed. */
  readonly root_version: number
  readonly targets_version: number
  readonly targets_signed_at: string
  readonly snapshot_version: number
  readonly snapshot_signed_at: string
  readonly timestamp_version: number
  readonly timestamp_signed_at: string
  readonly timestamp_body: Uint8Array
}

/** What was signed for a view at once: the files whose names have `version`. */
export interface PublicationRecord {
  readonly org: string
  readonly view_id: string
  /** Grows for a view, and is no less than the seconds from 1970 to when it was signed. */
  readonly version: number
  /** `{version}.snapshot.json`. */
  readonly snapshot: string
  /** `{version}.targets.json`; null where the one before goes on. */
  readonly targets: TargetsRecord | null
}

/** A targets file in parts: `head`, the entries of the documents with commas between them, `tail`. */
export interface TargetsRecord {
  readonly head: string
  readonly documents: readonly DocumentRecord[]
  readonly tail: string
}

/** One policy as machines get it. */
export interface DocumentRecord {
  /** Such as `policies/{sha256}.pol_….json`. */
  readonly path: string
  /** Of the body, lower-case hexadecimal. */
  readonly sha256: string
  readonly body: Uint8Array
  /** The member of `targets` by which targets files list it. */
  readonly entry: string
}

/** A staged rollout; times as `Date.toISOString`. */
export interface RolloutRecord {
  readonly id: string
  readonly org: string
  readonly state: RolloutState
  readonly stages: readonly RolloutStage[]
  /** How many of `stages` are reached: 1 from the start on, and never fewer than before. */
  readonly stage: number
  readonly stage_at: string
  readonly max_rejected: RejectionLimit
  /** Null when it advances by itself never. */
  readonly wait_seconds: number | null
  /** Of the policies that machines outside the stages reached keep. */
  readonly base_revision: number
  /** Refusals that were reported before count no more. */
  readonly counted_from: string
  readonly paused_at: string | null
  /** `Author.actor` */
  readonly paused_by: string | null
  readonly pause_reason: string | null
  readonly created_at: string
  readonly created_by: string
  readonly ended_at: string | null
}

/** When a rollout was judged last, and by which policies. */
export interface RolloutWatchRecord {
  readonly evaluated_at: string
  /** Equal exactly while the policies are. */
  readonly policies_hash: string
  /** Since when they have been seen to be these. */
  readonly policies_since: string
}
