import type { AccessState } from '@palisade/protocol'
import type { AccessRequestRecord, GrantHolder } from '../../access-records.ts'
import type { NamePage } from '../people/name-page.ts'

/** The newest `limit` of those before `before`; null stands for any. */
export interface AccessRequestPage {
  /** The id of a request; empty for the first page. */
  readonly before: string
  readonly limit: number
  readonly state: AccessState | null
  readonly username: string | null
  /** Only requests of this user, and of members of the teams whose approver the user is. */
  readonly seenBy: string | null
}

/** Requests for access, and their grants. */
export interface AccessRequestReader {
  find(org: string, id: string): Promise<AccessRequestRecord | null>
  /** The newest first. */
  page(org: string, page: AccessRequestPage): Promise<AccessRequestRecord[]>
  /** Requests that are pending, and grants in force, by id. */
  listOpen(org: string, username: string): Promise<AccessRequestRecord[]>
  /** Approved ones whose grant has not ended at `at` (`Date.toISOString`), by id. */
  listGrants(org: string, username: string, at: string): Promise<AccessRequestRecord[]>
  /** Lists requests of all organizations: the first `limit` whose `due_at` is not after `at`. */
  listDue(at: string, limit: number): Promise<AccessRequestRecord[]>
  /** Grows with each grant that begins or is revoked, in any organization; 0 before the first. */
  grantChanges(): Promise<number>
  /** The users whose grants changed after `changes`, a former answer of `grantChanges`. */
  holdersSince(changes: number): Promise<GrantHolder[]>
  /** Members who may answer requests of the members of a team, by username. */
  approvers(org: string, teamId: string, page: NamePage): Promise<string[]>
  /** Whether `approver` is an approver of a team that the user is in. */
  isApproverOf(org: string, approver: string, username: string): Promise<boolean>
}

/** Raises no revision: no policy changes by a grant, and most machines need not hear of it. */
export interface AccessRequestWriter extends AccessRequestReader {
  insert(request: AccessRequestRecord): Promise<void>
  /**
   * Replaces the members that a decision changes, if the state still is `from`; false otherwise.
   * When a grant begins or is revoked by it, the assignment of each device of the user gets a later
   * version, so that no assignment signed before can pass for the newest one.
   */
  update(request: AccessRequestRecord, from: AccessState): Promise<boolean>
  /** No change for an approver of the team. Approvers end with their membership or the team. */
  addApprover(org: string, teamId: string, username: string): Promise<void>
  /** False when the user is no approver of the team. */
  removeApprover(org: string, teamId: string, username: string): Promise<boolean>
}
