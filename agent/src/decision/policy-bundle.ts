import type { Policy } from '@palisade/policy-core'

/** What was verified, as far as decisions need it. Times are RFC 3339 UTC with milliseconds. */
export interface PolicyBundle {
  /** The organization's revision when what this machine enforces last became another. */
  readonly revision: number
  readonly issued_at: string
  /** From here on decisions carry `stale: true`. */
  readonly stale_at: string
  /** From here on what is allowed is denied with `policy_expired`, but for `offline_allow`. */
  readonly expires_at: string
  readonly settings: {
    readonly resolve_unlisted_names: boolean
    /** Hosts as rules write them. */
    readonly offline_allow: readonly string[]
  }
  readonly policies: readonly Policy[]
}
