import type { LanePath } from '../platform/fair-queue.ts'
import type { AccessRequestReader, AccessRequestWriter } from './contract/access.ts'
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
 * The durable state of the server. All drivers pass `test/server/store/store-conformance.ts`.
 *
 * `work` may await the reader or writer it was given, but no other operation on this store: a
 * nested `read` in `read`, or `transaction` in `transaction`, waits for itself. It awaits no slow
 * operation either: hash passwords and sign before or after.
 */
export interface Store {
  /** Runs `work` on one snapshot of the rows committed before it started. */
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
   * Differs from every earlier result whenever a commit may have happened in between: a read made
   * after the call is current while the result stays the same. Commits of this process count at
   * once, those of others from the next turn of the event loop after they are seen. The call is
   * cheap. Throws `ERR_STORE_UNAVAILABLE`.
   *
   * Some writes do not change it: the last use of access tokens, devices and networks of users,
   * reports and assignments of devices, verdicts on rollouts, progress of deliveries, and answers
   * kept for repeated requests. For `accounts` (users and their teams, access tokens, devices,
   * signing keys, secrets) a driver may also leave out other writes that do not change them.
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
  readonly accessRequests: AccessRequestReader
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
 * A reader that also writes. Each change of policies, rules, scopes, teams, memberships, settings
 * or the progress of a rollout raises the organization's revision by itself.
 */
export interface StoreWriter extends StoreReader {
  readonly organizations: OrganizationWriter
  readonly users: UserWriter
  readonly knownNetworks: KnownNetworkWriter
  readonly memberships: MembershipWriter
  readonly invitations: InvitationWriter
  readonly teams: TeamWriter
  readonly policies: PolicyWriter
  readonly accessRequests: AccessRequestWriter
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
