import type { LanePath } from '../platform/fair-queue.ts'
import type {
  InvitationReader,
  InvitationWriter,
  KnownNetworkReader,
  KnownNetworkWriter,
  MembershipReader,
  MembershipWriter,
  OrganizationReader,
  OrganizationWriter,
  TeamReader,
  TeamWriter,
  UserReader,
  UserWriter,
} from './contract/organizations.ts'
import type { PolicyReader, PolicyWriter } from './contract/policies.ts'
import type {
  AccessTokenReader,
  AccessTokenWriter,
  DeviceAssignmentReader,
  DeviceAssignmentWriter,
  DevicePollReader,
  DevicePollWriter,
  DeviceReportReader,
  DeviceReportWriter,
  DeviceReader,
  DeviceWriter,
  EnrolmentTokenReader,
  EnrolmentTokenWriter,
  GrantReader,
  GrantWriter,
} from './contract/credentials.ts'
import type {
  IdempotencyReader,
  IdempotencyWriter,
  SecretReader,
  SecretWriter,
  SigningKeyReader,
  SigningKeyWriter,
} from './contract/server-state.ts'
import type { TrustReader, TrustWriter, ViewReader, ViewWriter } from './contract/distribution.ts'
import type { RolloutReader, RolloutWriter } from './contract/rollouts.ts'
import type { EventReader, EventWriter } from './contract/history.ts'
import type {
  DeliveryReader,
  DeliveryWriter,
  WebhookReader,
  WebhookWriter,
} from './contract/webhooks.ts'

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
   * and when it fails all of them have failed. Drivers run transactions in the order of their
   * arrival;
   * `takeTurnsWriting` runs them by turns of their lanes.
   */
  transaction<T>(work: (writer: StoreWriter) => Promise<T>, lane?: LanePath): Promise<T>
  /**
   * Differs from every earlier answer whenever something may have been committed in between: what
   * was read after it was asked for is still true while it stays the same. Commits of this process
   * count at once, those of others from the next turn of the event loop after they are seen. Costs
   * next to nothing. Throws `ERR_STORE_UNAVAILABLE`.
   *
   * When access tokens, devices and networks of users were last used, what devices report, which
   * views they were assigned to, when rollouts were judged, how far deliveries have come and the
   * answers kept for repeated requests are no reason to differ. For `accounts` (users and their
   * teams, access tokens, devices, signing keys, secrets) a driver may leave out whatever else it
   * knows not to have changed them.
   */
  generation(of?: 'accounts'): number
  /**
   * Resolves when a query of all tables is answered. Throws `ERR_STORE_UNAVAILABLE`, and
   * `ERR_STORE_SCHEMA_DAMAGED` when one is missing.
   */
  ping(): Promise<void>
  /** Lets running work finish, then closes. Later calls throw `ERR_STORE_UNAVAILABLE`. */
  close(): Promise<void>
}

export interface StoreReader {
  readonly organizations: OrganizationReader
  readonly users: UserReader
  readonly knownNetworks: KnownNetworkReader
  readonly memberships: MembershipReader
  readonly invitations: InvitationReader
  readonly teams: TeamReader
  readonly policies: PolicyReader
  readonly accessTokens: AccessTokenReader
  readonly enrolmentTokens: EnrolmentTokenReader
  readonly devices: DeviceReader
  readonly grants: GrantReader
  readonly devicePolls: DevicePollReader
  readonly deviceAssignments: DeviceAssignmentReader
  readonly deviceReports: DeviceReportReader
  readonly signingKeys: SigningKeyReader
  readonly idempotency: IdempotencyReader
  readonly secrets: SecretReader
  readonly events: EventReader
  readonly webhooks: WebhookReader
  readonly deliveries: DeliveryReader
  readonly trust: TrustReader
  readonly views: ViewReader
  readonly rollouts: RolloutReader
}

/**
 * A reader that also writes. Whatever changes policies, rules, scopes, teams, memberships, settings
 * or how far a rollout has come raises the organization's revision by itself.
 */
export interface StoreWriter extends StoreReader {
  readonly organizations: OrganizationWriter
  readonly users: UserWriter
  readonly knownNetworks: KnownNetworkWriter
  readonly memberships: MembershipWriter
  readonly invitations: InvitationWriter
  readonly teams: TeamWriter
  readonly policies: PolicyWriter
  readonly accessTokens: AccessTokenWriter
  readonly enrolmentTokens: EnrolmentTokenWriter
  readonly devices: DeviceWriter
  readonly grants: GrantWriter
  readonly devicePolls: DevicePollWriter
  readonly deviceAssignments: DeviceAssignmentWriter
  readonly deviceReports: DeviceReportWriter
  readonly signingKeys: SigningKeyWriter
  readonly idempotency: IdempotencyWriter
  readonly secrets: SecretWriter
  readonly events: EventWriter
  readonly webhooks: WebhookWriter
  readonly deliveries: DeliveryWriter
  readonly trust: TrustWriter
  readonly views: ViewWriter
  readonly rollouts: RolloutWriter
}
