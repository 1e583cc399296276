import type { DeliveryState, Role } from '@palisade/protocol'
import type {
  AccessTokenRecord,
  DeliveryRecord,
  DeviceRecord,
  EventHead,
  EventRecord,
  IdempotencyRecord,
  KeyPurpose,
  MembershipRecord,
  OrganizationRecord,
  OrganizationTokenRecord,
  PersonalTokenRecord,
  PolicyHeadRecord,
  PolicyRecord,
  RuleRecord,
  SigningKeyRecord,
  TeamRecord,
  UserRecord,
  WebhookRecord,
} from './records.ts'

/**
 * Everything that the server remembers. All drivers pass `test/server/store/store-conformance.ts`.
 *
 * `work` may await the reader or writer it was given and nothing else that waits on this store
 * (a nested `read` in `read`, or `transaction` in `transaction`, waits for itself), and it awaits
 * nothing slow: hash passwords and sign before or after.
 */
export interface Store {
  /** Runs `work` on one snapshot of what was committed before it started. */
  read<T>(work: (reader: StoreReader) => Promise<T>): Promise<T>
  /**
   * Runs `work` alone among all writers; it sees everything committed and its own writes. Durable
   * (on disk) before it resolves; undone entirely when `work` throws. Throws StoreError.
   *
   * A driver may make several transactions durable with one commit: each of them is told after it,
   * and when it fails all of them have failed.
   */
  transaction<T>(work: (writer: StoreWriter) => Promise<T>): Promise<T>
  /**
   * Differs from every earlier answer whenever something may have been committed in between: what
   * was read after it was asked for is still true while it stays the same. Commits of this process
   * count at once, those of others from the next turn of the event loop after they are seen. Costs
   * next to nothing. Throws `ERR_STORE_UNAVAILABLE`.
   */
  generation(): number
  /** Resolves when a query is answered. Throws `ERR_STORE_UNAVAILABLE`. */
  ping(): Promise<void>
  /** Lets running work finish, then closes. Later calls throw `ERR_STORE_UNAVAILABLE`. */
  close(): Promise<void>
}

export interface StoreReader {
  readonly organizations: OrganizationReader
  readonly users: UserReader
  readonly memberships: MembershipReader
  readonly teams: TeamReader
  readonly policies: PolicyReader
  readonly accessTokens: AccessTokenReader
  readonly devices: DeviceReader
  readonly devicePolls: DevicePollReader
  readonly signingKeys: SigningKeyReader
  readonly idempotency: IdempotencyReader
  readonly secrets: SecretReader
  readonly events: EventReader
  readonly webhooks: WebhookReader
  readonly deliveries: DeliveryReader
}

/**
 * A reader that also writes. Whatever changes policies, rules, scopes, teams, memberships or
 * settings raises the organization's revision by itself.
 */
export interface StoreWriter extends StoreReader {
  readonly organizations: OrganizationWriter
  readonly users: UserWriter
  readonly memberships: MembershipWriter
  readonly teams: TeamWriter
  readonly policies: PolicyWriter
  readonly accessTokens: AccessTokenWriter
  readonly devices: DeviceWriter
  readonly devicePolls: DevicePollWriter
  readonly signingKeys: SigningKeyWriter
  readonly idempotency: IdempotencyWriter
  readonly secrets: SecretWriter
  readonly events: EventWriter
  readonly webhooks: WebhookWriter
  readonly deliveries: DeliveryWriter
}

export interface OrganizationReader {
  find(name: string): Promise<OrganizationRecord | null>
  count(): Promise<number>
  /** Of all organizations, ascending. */
  names(): Promise<string[]>
}
export interface OrganizationWriter extends OrganizationReader {
  insert(organization: Omit<OrganizationRecord, 'revision'>): Promise<OrganizationRecord>
  updateSettings(name: string, settings: { resolve_unlisted_names: boolean }): Promise<void>
  updateEntitled(name: string, entitled: boolean): Promise<void>
  /** Goes on at `revision`, past those that a lost database may have handed out. */
  raiseRevision(name: string, revision: number): Promise<void>
}

export interface UserReader {
  find(username: string): Promise<UserRecord | null>
}
export interface UserWriter extends UserReader {
  insert(user: Omit<UserRecord, 'password_generation'>): Promise<void>
  /** Raises the generation. Throws `ERR_STORE_NOT_FOUND`. */
  updatePassword(username: string, passwordHash: string | null): Promise<void>
}

export interface MembershipReader {
  find(org: string, username: string): Promise<MembershipRecord | null>
  /** By username. */
  list(org: string): Promise<MembershipRecord[]>
  listOfUser(username: string): Promise<MembershipRecord[]>
}
export interface MembershipWriter extends MembershipReader {
  insert(membership: MembershipRecord): Promise<void>
  updateRole(org: string, username: string, role: Role): Promise<void>
  /** Also takes the user out of the organization's teams. */
  delete(org: string, username: string): Promise<void>
}

export interface TeamReader {
  find(org: string, id: string): Promise<TeamRecord | null>
  /** By name. */
  list(org: string): Promise<TeamRecord[]>
  /** Team ids of one member, ascending. */
  listOfUser(org: string, username: string): Promise<string[]>
  /** Team ids of every member who is in one, ascending. */
  listOfUsers(org: string): Promise<Map<string, string[]>>
}
export interface TeamWriter extends TeamReader {
  insert(team: TeamRecord): Promise<void>
  /** Throws `ERR_STORE_CONFLICT` (`team_in_use`) while a policy names the team. */
  delete(org: string, id: string): Promise<void>
  /** No change when he is in it already; the user must be a member of the organization. */
  addMember(org: string, id: string, username: string): Promise<void>
  /** False when he was not in it. */
  removeMember(org: string, id: string, username: string): Promise<boolean>
}

export interface PolicyReader {
  find(org: string, id: string): Promise<PolicyRecord | null>
  findByName(org: string, name: string): Promise<PolicyHeadRecord | null>
  /** At most `limit` policies by ascending id, those after `afterId` (exclusive; '' for all). */
  list(org: string, page: { afterId: string; limit: number }): Promise<PolicyHeadRecord[]>
  /** Every policy with its rules, by ascending id. */
  listWithRules(org: string): Promise<PolicyRecord[]>
  /** Policies whose scope names the team, by ascending id. */
  listUsingTeam(org: string, teamId: string): Promise<PolicyHeadRecord[]>
  count(org: string): Promise<number>
}

/** Each write stamps the policy with the organization's new revision and answers it as it now is. */
export interface PolicyWriter extends PolicyReader {
  /** A policy without rules. Throws `ERR_STORE_CONFLICT` (`policy_name`). */
  insert(policy: Omit<PolicyHeadRecord, 'revision'>): Promise<PolicyRecord>
  /** Replaces name, teams and `updated_at`. Throws `ERR_STORE_CONFLICT` (`policy_name`). */
  update(
    policy: Pick<PolicyHeadRecord, 'org' | 'id' | 'name' | 'teams' | 'updated_at'>,
  ): Promise<PolicyRecord>
  delete(org: string, id: string): Promise<void>
  /** Appends. Throws `ERR_STORE_CONFLICT` (`rule_name`), as does `updateRule`. */
  insertRule(at: RulePlace, rule: RuleRecord): Promise<PolicyRecord>
  /** Replaces the rule with `rule.id`; it keeps its place. */
  updateRule(at: RulePlace, rule: RuleRecord): Promise<PolicyRecord>
  deleteRule(at: RulePlace, ruleId: string): Promise<PolicyRecord>
  /** The policy has exactly these rules afterwards, in this order; one revision for all of them. */
  replaceRules(at: RulePlace, rules: readonly RuleRecord[]): Promise<PolicyRecord>
}

/** The policy that holds the rule, and when its change happens. */
export interface RulePlace {
  readonly org: string
  readonly policyId: string
  readonly updated_at: string
}

export interface AccessTokenReader {
  find(id: string): Promise<AccessTokenRecord | null>
  findBySecretHash(secretHash: string): Promise<AccessTokenRecord | null>
  /** Not revoked, by creation; expired ones too. */
  listOfUser(username: string): Promise<PersonalTokenRecord[]>
  listOfOrganization(org: string): Promise<OrganizationTokenRecord[]>
  /** Not revoked, of every organization, by creation; `actor` as in `created_by`. */
  listMadeBy(actor: string): Promise<OrganizationTokenRecord[]>
}
export interface AccessTokenWriter extends AccessTokenReader {
  /** Notes a use; an earlier one than is known changes nothing. Raises no revision. */
  touch(id: string, usedAt: string): Promise<void>
  insert(token: AccessTokenRecord): Promise<void>
  /**
   * With everything that descends from it by `parent_id`; what was revoked before keeps its time.
   * Answers those that are revoked by this, by creation.
   */
  revoke(id: string, revokedAt: string): Promise<AccessTokenRecord[]>
}

export interface DeviceReader {
  find(org: string, id: string): Promise<DeviceRecord | null>
  findByTokenHash(tokenHash: string): Promise<DeviceRecord | null>
  /** By ascending id; revoked ones too. */
  list(org: string): Promise<DeviceRecord[]>
}
export interface DeviceWriter extends DeviceReader {
  insert(device: DeviceRecord): Promise<void>
  /** Answers the device that is revoked by this; none when it was before. */
  revoke(id: string, revokedAt: string): Promise<DeviceRecord | null>
  /** Answers those that are revoked by this, by ascending id. */
  revokeOfUser(org: string, username: string, revokedAt: string): Promise<DeviceRecord[]>
}

export interface DevicePollReader {
  /** When each device of the organization that ever polled was last recorded, by its id. */
  list(org: string): Promise<Map<string, string>>
}
export interface DevicePollWriter extends DevicePollReader {
  /** No change when a later poll (`Date.toISOString`) is recorded; never raises the revision. */
  record(deviceId: string, seenAt: string): Promise<void>
}

export interface SigningKeyReader {
  /** Oldest first. */
  list(purpose: KeyPurpose): Promise<SigningKeyRecord[]>
}
export interface SigningKeyWriter extends SigningKeyReader {
  insert(key: SigningKeyRecord): Promise<void>
  /** Deletes the private part and answers the key as it now is. Throws `ERR_STORE_NOT_FOUND`. */
  retire(kid: string, verifiesUntil: string): Promise<SigningKeyRecord>
}

export interface IdempotencyReader {
  /** Also one that has expired; the caller compares `expires_at`. */
  find(scope: string): Promise<IdempotencyRecord | null>
}
export interface IdempotencyWriter extends IdempotencyReader {
  /** Replaces what the scope had. */
  put(record: IdempotencyRecord): Promise<void>
  /** Removes what expired at or before `now` (`Date.toISOString`). */
  deleteExpired(now: string): Promise<void>
}

/** Random values the server keeps for itself, such as `page_token_mac`. */
export interface SecretReader {
  find(name: string): Promise<Uint8Array | null>
}
export interface SecretWriter extends SecretReader {
  insert(name: string, value: Uint8Array): Promise<void>
}

export interface EventReader {
  /** By ascending sequence. */
  list(org: string, page: EventPage): Promise<EventRecord[]>
  /** Null for an organization without history. */
  head(org: string): Promise<EventHead | null>
}

/** Which events of an organization; null stands for any. */
export interface EventPage {
  /** Exclusive. */
  readonly after: number
  /** Inclusive. */
  readonly through: number
  readonly limit: number
  readonly kind?: string | null
  readonly actor?: string | null
  /** Inclusive, as `Date.toISOString`. */
  readonly since?: string | null
  /** Exclusive, as `Date.toISOString`. */
  readonly until?: string | null
}

export interface EventWriter extends EventReader {
  /**
   * Appends to the history of one organization and makes the last of `events` (one at least) its
   * head. The caller has chained them; a sequence that is taken throws `ERR_STORE_CONFLICT`.
   */
  append(org: string, events: readonly EventRecord[]): Promise<void>
}

export interface WebhookReader {
  find(org: string, id: string): Promise<WebhookRecord | null>
  /** By creation. */
  list(org: string): Promise<WebhookRecord[]>
}
export interface WebhookWriter extends WebhookReader {
  /** Its first event is the one that follows `after`. It has no previous secret. */
  insert(
    webhook: Omit<WebhookRecord, 'previous_secret' | 'previous_secret_until'>,
    after: number,
  ): Promise<void>
  /** Also makes the event that waits due `at` once, as if it had not been tried. */
  update(webhook: Pick<WebhookRecord, 'org' | 'id' | 'url' | 'enabled'>, at: string): Promise<void>
  /** The secret so far becomes the previous one. */
  replaceSecret(
    change: Pick<WebhookRecord, 'org' | 'id' | 'secret'> & { at: string; previousUntil: string },
  ): Promise<void>
  /** With its deliveries. */
  delete(org: string, id: string): Promise<void>
}

/** An event that one server alone may send, until its lease ends. */
export interface ClaimedDelivery {
  readonly webhook: WebhookRecord
  readonly sequence: number
  /** Made so far. */
  readonly attempts: number
  /** Whether somebody asked for it once more, out of order. */
  readonly isAgain: boolean
}

/** How far a webhook has come. */
export interface DeliveryPosition {
  readonly delivered_sequence: number
  /** Made for the event after that. */
  readonly attempts: number
  readonly next_attempt_at: string
}

export interface DeliveryReader {
  /** Ids of webhooks that have something to deliver and that no server has claimed. */
  due(now: string, limit: number): Promise<string[]>
  /** The newest first; `state` null for any. */
  list(
    webhookId: string,
    page: { readonly state: DeliveryState | null; readonly limit: number },
  ): Promise<DeliveryRecord[]>
  /** Sequence of the last event that was delivered or given up. */
  position(webhookId: string): Promise<number>
}
/** Progress, not history: none of it is audited. */
export interface DeliveryWriter extends DeliveryReader {
  /** Null when the webhook is not due, or claimed until later than `now`. */
  claim(
    webhookId: string,
    lease: { readonly owner: string; readonly now: string; readonly until: string },
  ): Promise<ClaimedDelivery | null>
  /**
   * Keeps what became of a claimed delivery and ends the lease; `position` null leaves the webhook
   * where it is. False, and nothing kept, when the lease has passed to another owner.
   */
  settle(
    owner: string,
    delivery: DeliveryRecord,
    position: DeliveryPosition | null,
  ): Promise<boolean>
  release(webhookId: string, owner: string): Promise<void>
  /** Replaces what is kept of this event. */
  put(delivery: DeliveryRecord): Promise<void>
}
