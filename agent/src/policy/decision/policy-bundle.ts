import type { Policy } from '@palisade/policy-core'
import type { AccessGrant, EvidenceSettings } from '@palisade/protocol'

/** The verified content that decisions need. Times are RFC 3339 UTC with milliseconds. */
export interface PolicyBundle {
  /** The organization's revision at the last change of this machine's policies. */
  readonly revision: number
  readonly issued_at: string
  /** Decisions carry `stale: true` from here on. */
  readonly stale_at: string
  /** Allows are denied with `policy_expired` from here on, except for `offline_allow`. */
  readonly expires_at: string
  readonly settings: {
    readonly resolve_unlisted_names: boolean
    /** Hosts in rule syntax. */
    readonly offline_allow: readonly string[]
    /** Which records this machine uploads. Absent means that it uploads no record. */
    readonly evidence?: EvidenceSettings
    /** `observe`; any other value, and its absence, enforces. */
    readonly default?: string | undefined
    /** Shown after each denial by the organization's policies. */
    readonly support_message?: string
  }
  readonly policies: readonly Policy[]
  /** Access grants of the user of this machine. */
  readonly grants: readonly AccessGrant[]
  /** The number of grants without effect, because this version cannot read them. */
  readonly unreadableGrants: number
  /** SHA-256 of the settings and of the documents, in hexadecimal. */
  readonly digest: string
}
