import type {
  AgentState,
  AssuranceClass,
  EnforcementReport,
  RejectionLimit,
  RolloutStage,
  RolloutState,
} from '@palisade/protocol'
import type { JWK } from 'jose'

// Rows of machines and of the files that they fetch. Instants are as in `records.ts`.

/** A token with which a machine may enrol itself. */
export interface EnrolmentTokenRecord {
  readonly id: string
  readonly org: string
  readonly name: string
  readonly labels: readonly string[]
  /** Lower-case hexadecimal SHA-256 of the secret. */
  readonly secret_hash: string
  /** The first characters of the secret, to know it by. */
  readonly prefix: string
  /** The version of the root whose hash stands in the token. */
  readonly root_version: number
  readonly max_uses: number
  /** Never above `max_uses`. */
  readonly uses: number
  readonly last_used_at: string | null
  readonly created_at: string
  /** `Author.actor` of the creator. */
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
  /** The thumbprint of its key (RFC 7638). */
  readonly thumbprint: string
  /** For people; null if the machine gave no name. Not unique. */
  readonly name: string | null
  readonly labels: readonly string[]
  /** The token it enrolled itself with; null when a signed-in user enrolled it. */
  readonly enrolment_token_id: string | null
  readonly created_at: string
  readonly revoked_at: string | null
}

/** Which view is a device's own, as the newest assignment says that was signed for it. */
export interface DeviceAssignmentRecord {
  readonly device_id: string
  readonly view_id: string
  /** Grows whenever the view becomes another, and is no less than the seconds from 1970 to then. */
  readonly version: number
}

/** The newest report of a device on its own state. */
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
  /** Null before the first self-probe of the machine's proxy. */
  readonly proxy_enforcement: EnforcementReport['proxy'] | null
  /** Null before the first self-probe, and for an agent that reports no class. */
  readonly assurance: AssuranceClass | null
  /** Null while no policy is in force. */
  readonly policy_digest: string | null
}

/** A break-glass grant that was issued; the signed file itself is not kept. */
export interface GrantRecord {
  readonly id: string
  readonly org: string
  readonly device_id: string
  readonly reason: string
  /** `Author.actor` of the issuer. */
  readonly issued_by: string
  readonly issued_at: string
  /** It must be begun before then (`Date.toISOString`). */
  readonly use_by: string
  readonly duration_seconds: number
  /** From then on it can neither be begun nor be in force (`Date.toISOString`). */
  readonly over_at: string
}

export type DistributionRole = 'root' | 'targets' | 'online'

/** A key that signs the files that machines of one organization enforce; `online` has two roles. */
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
  /** The file as it is served. */
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
  /** The hash of everything in the targets file but its version and life. */
  readonly content_hash: string
  /** The version of the root whose keys have signed. */
  readonly root_version: number
  readonly targets_version: number
  readonly targets_signed_at: string
  readonly snapshot_version: number
  readonly snapshot_signed_at: string
  readonly timestamp_version: number
  readonly timestamp_signed_at: string
  readonly timestamp_body: Uint8Array
}

/** The files of a view that were signed together: their names have `version`. */
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

/**
 * A targets file in parts: `head`, the entries of the documents with commas between them, `tail`.
 */
export interface TargetsRecord {
  readonly head: string
  readonly documents: readonly DocumentRecord[]
  readonly tail: string
}

/** One policy as machines get it. */
export interface DocumentRecord {
  /** Such as `policies/{sha256}.pol_….json`. */
  readonly path: string
  /** The SHA-256 of the body, lower-case hexadecimal. */
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
  /** The revision of the policies that machines outside the stages reached keep. */
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

/** When a rollout was last evaluated, and by which policies. */
export interface RolloutWatchRecord {
  readonly evaluated_at: string
  /** Equal exactly while the policies are. */
  readonly policies_hash: string
  /** Since when they have been seen to be these. */
  readonly policies_since: string
}
