import type {
  DeviceRecord,
  DeviceAssignmentRecord,
  DeviceReportRecord,
  EnrolmentTokenRecord,
  GrantRecord,
} from '../distribution-records.ts'
import type { AccessTokenRecord, OrganizationTokenRecord, PersonalTokenRecord } from '../records.ts'
import type {
  BehindDevices,
  BehindPage,
  DeviceFilter,
  DevicePage,
  DeviceStanding,
  FoundDevices,
  StandingPage,
} from './device-search.ts'

/**
 * The first `limit` tokens that were made later than `after` and expire later than `expiresAfter`.
 */
export interface TokenPage {
  /** The id of a token, revoked or not; empty for the first page. */
  readonly after: string
  readonly limit: number
  /** `Date.toISOString` */
  readonly expiresAfter: string
}

/**
 * A token is invalid from the moment of its revocation on, and so are all tokens made from it.
 * Lists and counts leave out the first hundred at once, and the rest after `revokePending` has
 * marked them.
 */
export interface AccessTokenReader {
  /** Whether `revokePending` has something to note, here or for enrolment tokens. */
  hasPending(): Promise<boolean>
  find(id: string): Promise<AccessTokenRecord | null>
  findBySecretHash(secretHash: string): Promise<AccessTokenRecord | null>
  /** The id of the first token in the line of `parent_id`; `id` itself when it has no parent. */
  rootOf(id: string): Promise<string>
  /** Not revoked, by creation; expired ones too. */
  listOfUser(username: string): Promise<PersonalTokenRecord[]>
  listOfOrganization(org: string): Promise<OrganizationTokenRecord[]>
  /** Not revoked, by creation. */
  pageOfUser(username: string, page: TokenPage): Promise<PersonalTokenRecord[]>
  pageOfOrganization(org: string, page: TokenPage): Promise<OrganizationTokenRecord[]>
  /** Neither revoked nor over at `at` (`Date.toISOString`). */
  countLiveOfUser(username: string, at: string): Promise<number>
  countLiveOfOrganization(org: string, at: string): Promise<number>
  /** The same of the organization's that `actor` made. */
  countLiveMadeBy(org: string, actor: string, at: string): Promise<number>
  /** Not revoked, of every organization, by creation; `actor` as in `created_by`. */
  listMadeBy(actor: string): Promise<OrganizationTokenRecord[]>
}

export interface AccessTokenWriter extends AccessTokenReader {
  /** Notes a use; an earlier use than the known one changes no row. Raises no revision. */
  touch(id: string, usedAt: string): Promise<void>
  insert(token: AccessTokenRecord): Promise<void>
  /**
   * Revokes the token and every descendant by `parent_id`; tokens revoked before keep their time.
   * Returns the token and the first hundred that this call revokes, by creation.
   */
  revoke(id: string, revokedAt: string): Promise<AccessTokenRecord[]>
  /** The same for all tokens of the organization whose `created_by` is `actor`. */
  revokeMadeBy(org: string, actor: string, revokedAt: string): Promise<AccessTokenRecord[]>
  /** The same for all personal tokens of the user. */
  revokeOfUser(username: string, revokedAt: string): Promise<AccessTokenRecord[]>
  /** Marks a hundred more of those that are revoked already; null without pending ones. */
  revokePending(): Promise<AccessTokenRecord[] | null>
}

/** A token counts as revoked, too, when the access token that it descends from is. */
export interface EnrolmentTokenReader {
  /** Null for one that is revoked. */
  find(org: string, id: string): Promise<EnrolmentTokenRecord | null>
  findBySecretHash(secretHash: string): Promise<EnrolmentTokenRecord | null>
  /** Not revoked, by creation; expired and used up ones too. */
  list(org: string): Promise<EnrolmentTokenRecord[]>
  page(org: string, page: TokenPage): Promise<EnrolmentTokenRecord[]>
  /** Neither revoked by itself nor over at `at` (`Date.toISOString`). */
  countLive(org: string, at: string): Promise<number>
}

export interface EnrolmentTokenWriter extends EnrolmentTokenReader {
  insert(token: EnrolmentTokenRecord): Promise<void>
  /** Counts one more use. Returns null and counts no use when the token is used up or revoked. */
  use(id: string, usedAt: string): Promise<EnrolmentTokenRecord | null>
  /** Returns the token that this call revokes; null when it was revoked before. */
  revoke(org: string, id: string, revokedAt: string): Promise<EnrolmentTokenRecord | null>
  /**
   * Those of the organization whose `created_by` is `actor`; answers the first hundred by creation.
   * Others are found no more and keep their places in counts until `revokePending`.
   */
  revokeMadeBy(org: string, actor: string, revokedAt: string): Promise<EnrolmentTokenRecord[]>
  /** Marks a hundred more of those that are revoked already; null without pending ones. */
  revokePending(): Promise<EnrolmentTokenRecord[] | null>
}

export interface DeviceReader {
  find(org: string, id: string): Promise<DeviceRecord | null>
  findById(id: string): Promise<DeviceRecord | null>
  findByThumbprint(thumbprint: string): Promise<DeviceRecord | null>
  /** Without those that were revoked. */
  countLive(org: string): Promise<number>
  /** Whether a device that was not revoked has the label. */
  hasLabel(org: string, label: string): Promise<boolean>
  countLiveOfUser(org: string, username: string): Promise<number>
  /** Each user of a device that was not revoked, once; null where one has no user. */
  listLiveUsers(org: string): Promise<(string | null)[]>
  /** With a label or a user in the filter, the window is of devices that have them. */
  search(org: string, filter: DeviceFilter, page: DevicePage): Promise<FoundDevices>
  /** By ascending id, without those that were revoked. */
  listStandings(org: string, page: StandingPage): Promise<DeviceStanding[]>
  /** The same, but for those that have reached the revision: most of a fleet is not read. */
  listBehind(org: string, page: BehindPage): Promise<BehindDevices>
}

export interface DeviceWriter extends DeviceReader {
  insert(device: DeviceRecord): Promise<void>
  setLabels(org: string, id: string, labels: readonly string[]): Promise<void>
  setName(org: string, id: string, name: string): Promise<void>
  /** Returns the device that this call revokes; null when it was revoked before. */
  revoke(id: string, revokedAt: string): Promise<DeviceRecord | null>
  /** Answers those that are revoked by this, by ascending id. */
  revokeOfUser(org: string, username: string, revokedAt: string): Promise<DeviceRecord[]>
}

export interface GrantReader {
  /** Those that are not over at `at` (`Date.toISOString`), by time of issue. */
  listOutstanding(org: string, deviceId: string, at: string): Promise<GrantRecord[]>
}

export interface GrantWriter extends GrantReader {
  insert(grant: GrantRecord): Promise<void>
}

export interface DevicePollReader {
  /** When each of these devices that ever polled was last recorded, by its id. */
  list(deviceIds: readonly string[]): Promise<Map<string, string>>
}

export interface DevicePollWriter extends DevicePollReader {
  /** No change when a later poll (`Date.toISOString`) is recorded; never raises the revision. */
  record(deviceId: string, seenAt: string): Promise<void>
}

export interface DeviceAssignmentReader {
  /** The newest assignment of each of these devices that ever had one, by its id. */
  list(deviceIds: readonly string[]): Promise<Map<string, DeviceAssignmentRecord>>
}

export interface DeviceAssignmentWriter extends DeviceAssignmentReader {
  /** Replaces the assignment of each device; at most one per device. Never raises the revision. */
  put(assignments: readonly DeviceAssignmentRecord[]): Promise<void>
}

export interface DeviceReportReader {
  /** The newest report of each of these devices that ever reported, by its id. */
  list(deviceIds: readonly string[]): Promise<Map<string, DeviceReportRecord>>
}

export interface DeviceReportWriter extends DeviceReportReader {
  /**
   * At most one report per device. Reports of unknown devices, and reports older than the stored
   * one, are left out; never raises the revision.
   */
  put(reports: readonly DeviceReportRecord[]): Promise<void>
}
