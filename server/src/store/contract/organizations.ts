import type {
  AccessSettings,
  DefaultDecision,
  DistributionSettings,
  EvidenceSettings,
  Role,
} from '@palisade/protocol'
import type {
  InvitationRecord,
  MembershipRecord,
  OrganizationRecord,
  TeamRecord,
  UserRecord,
} from '../records.ts'

/** The first `limit` rows whose name (of a user, a team or an organization) comes after `after`. */
export interface NamePage {
  /** Empty for the first page. */
  readonly after: string
  readonly limit: number
}

export interface OrganizationReader {
  find(name: string): Promise<OrganizationRecord | null>
  count(): Promise<number>
  /** Of all organizations, ascending. */
  names(): Promise<string[]>
  /** Of all organizations, by name. */
  revisions(): Promise<Map<string, number>>
  /**
   * Settings that machines receive beside policies; a setting that is not chosen has its default.
   */
  distribution(name: string): Promise<DistributionSettings>
  /** Which records machines upload; a setting that is not chosen has its default. */
  evidence(name: string): Promise<EvidenceSettings>
  /** Limits on access requests; a setting that is not chosen has its default. */
  access(name: string): Promise<AccessSettings>
}

export interface OrganizationWriter extends OrganizationReader {
  insert(organization: Omit<OrganizationRecord, 'revision'>): Promise<OrganizationRecord>
  updateSettings(name: string, settings: { resolve_unlisted_names: boolean }): Promise<void>
  /** Null: the organization has no say. */
  updateDefault(name: string, chosen: DefaultDecision | null): Promise<void>
  /** Null: no text. */
  updateSupportMessage(name: string, message: string | null): Promise<void>
  /** Throws `ERR_STORE_NOT_FOUND`. */
  updateDistribution(name: string, settings: DistributionSettings): Promise<void>
  /** Throws `ERR_STORE_NOT_FOUND`. */
  updateEvidence(name: string, settings: EvidenceSettings): Promise<void>
  /** Raises no revision. */
  updateAccess(name: string, settings: AccessSettings): Promise<void>
  updateEntitled(name: string, entitled: boolean): Promise<void>
  /** Goes on at `revision`, past those that a lost database may have handed out. */
  raiseRevision(name: string, revision: number): Promise<void>
}

export interface UserReader {
  find(username: string): Promise<UserRecord | null>
  /** Teams that all tokens of `teams_synced_iat` name; null before the first. */
  claimedTeams(username: string): Promise<readonly string[] | null>
}

/** Since the last time that they were noted. */
export interface FailedSignIns {
  readonly wrong: number
  /** Refused before the password was looked at. */
  readonly throttled: number
  /** Some of the networks that they came from. */
  readonly networks: readonly string[]
}

export interface UserWriter extends UserReader {
  insert(user: Pick<UserRecord, 'username' | 'password_hash' | 'created_at'>): Promise<void>
  /** Raises the generation. Throws `ERR_STORE_NOT_FOUND`. */
  updatePassword(username: string, passwordHash: string | null): Promise<void>
  /**
   * Adds to the failed sign-ins; raises no revision and no generation. Throws
   * `ERR_STORE_NOT_FOUND`.
   */
  noteFailedSignIns(username: string, failures: FailedSignIns): Promise<void>
  /**
   * `issuedAt` of the newest tokens whose teams the user has, and the teams that all of them name.
   * Raises no revision and no generation. Throws `ERR_STORE_NOT_FOUND`.
   */
  noteTeamsSynced(username: string, issuedAt: number, names: readonly string[]): Promise<void>
  /** Of an external issuer, those that were opened until `at`. Throws `ERR_STORE_NOT_FOUND`. */
  endExternalSessions(username: string, at: string): Promise<void>
}

/** The networks that a user has signed in from with a password. */
export interface KnownNetworkReader {
  /** When it was noted last (`Date.toISOString`); null when it is not among the newest 16. */
  seenAt(username: string, network: string): Promise<string | null>
}

export interface KnownNetworkWriter extends KnownNetworkReader {
  note(username: string, network: string, at: string): Promise<void>
  forget(username: string): Promise<void>
}

export interface MembershipReader {
  find(org: string, username: string): Promise<MembershipRecord | null>
  /** By username. */
  list(org: string): Promise<MembershipRecord[]>
  page(org: string, page: NamePage): Promise<MembershipRecord[]>
  count(org: string): Promise<number>
  /** Roles of those of the users that are members, by username. */
  rolesOfSome(org: string, usernames: readonly string[]): Promise<Map<string, Role>>
  /** By organization. */
  listOfUser(username: string): Promise<MembershipRecord[]>
  pageOfUser(username: string, page: NamePage): Promise<MembershipRecord[]>
  /**
   * Names of the organizations that own the user's account and have the user as a member,
   * ascending.
   */
  ownersOfAccount(username: string): Promise<string[]>
  /** Whether the organization has an owner besides this user. */
  hasOtherOwner(org: string, username: string): Promise<boolean>
  /** Whether the organization owns the user's account, even if the user is no member of it. */
  isOwnerOfAccount(org: string, username: string): Promise<boolean>
}

export interface MembershipWriter extends MembershipReader {
  /**
   * With `ownsAccount` the organization owns the account from now on, also after the user has left:
   * it has made the account. It alone sees the use of the account, and may reset its password.
   */
  insert(membership: MembershipRecord, owner?: { readonly ownsAccount: boolean }): Promise<void>
  updateRole(org: string, username: string, role: Role): Promise<void>
  /** Also takes the user out of the organization's teams. */
  delete(org: string, username: string): Promise<void>
}

export interface InvitationReader {
  find(org: string, username: string): Promise<InvitationRecord | null>
  /** By username. */
  list(org: string): Promise<InvitationRecord[]>
  page(org: string, page: NamePage): Promise<InvitationRecord[]>
  /** By organization. */
  pageOfUser(username: string, page: NamePage): Promise<InvitationRecord[]>
  count(org: string): Promise<number>
}

export interface InvitationWriter extends InvitationReader {
  insert(invitation: InvitationRecord): Promise<void>
  delete(org: string, username: string): Promise<void>
}

export interface TeamReader {
  find(org: string, id: string): Promise<TeamRecord | null>
  /** By name. */
  list(org: string): Promise<TeamRecord[]>
  page(org: string, page: NamePage): Promise<TeamRecord[]>
  count(org: string): Promise<number>
  /** Team ids of one member, ascending. */
  listOfUser(org: string, username: string): Promise<string[]>
  /** Usernames of the team's members, ascending. */
  listMembers(org: string, id: string): Promise<string[]>
  /** As `listOfUsers`, of these members. */
  listOfSome(org: string, usernames: readonly string[]): Promise<Map<string, string[]>>
  /** Of all teams that have chosen one, by team id. */
  defaults(org: string): Promise<Map<string, DefaultDecision>>
  /** Team ids of every member of a team, ascending. */
  listOfUsers(org: string): Promise<Map<string, string[]>>
}

export interface TeamWriter extends TeamReader {
  insert(team: TeamRecord): Promise<void>
  /** Null: the team has no say. Throws `ERR_STORE_NOT_FOUND`. */
  updateDefault(org: string, id: string, chosen: DefaultDecision | null): Promise<void>
  /** Throws `ERR_STORE_CONFLICT` (`team_in_use`) while a policy names the team. */
  delete(org: string, id: string): Promise<void>
  /** No change for a member of the team; the user must be a member of the organization. */
  addMember(org: string, id: string, username: string): Promise<void>
  /** False when the user is not in the team. */
  removeMember(org: string, id: string, username: string): Promise<boolean>
}
