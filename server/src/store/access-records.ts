import type { AccessGrant, AccessRequest, AccessState } from '@palisade/protocol'

/** A request for access, and the grant that answers it. Instants are `Date.toISOString`. */
export interface AccessRequestRecord {
  /** Ids sort by the time of the request. */
  readonly id: string
  readonly org: string
  readonly username: string
  /** The machine that asked; null for the API. */
  readonly device_id: string | null
  readonly state: AccessState
  readonly action: AccessRequest['action']
  readonly resources: readonly string[]
  readonly duration_seconds: number
  readonly once: boolean
  readonly reason: string
  readonly created_at: string
  /** When a request without an answer lapses, or a grant ends; null once its state is final. */
  readonly due_at: string | null
  /** Null, as are `decided_by` and `answer`, before the first decision. */
  readonly decided_at: string | null
  /** `Author.actor` */
  readonly decided_by: string | null
  readonly answer: string | null
  readonly grant: Granted | null
}

/** The answer of an approver; it may be narrower and shorter than the request. */
export interface Granted extends Pick<AccessGrant, 'not_before' | 'expires_at' | 'once'> {
  readonly resources: readonly string[]
}

/** The user of an organization whose grants have changed. */
export interface GrantHolder {
  readonly org: string
  readonly username: string
}
