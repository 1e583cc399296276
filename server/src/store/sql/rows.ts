import type { StoreReader, StoreWriter } from '../store.ts'
import type { Connection } from './connection.ts'
import { createAccessRequestReader, createAccessRequestWriter } from './access-request-rows.ts'
import { createAccessTokenReader, createAccessTokenWriter } from './credential-rows.ts'
import { createDeliveryReader, createDeliveryWriter } from './delivery-rows.ts'
import { createEnrolmentTokenReader, createEnrolmentTokenWriter } from './enrolment-token-rows.ts'
import { createEventReader, createEventWriter } from './event-rows.ts'
import { createDeviceReader, createDeviceWriter } from './device-rows.ts'
import {
  createDeviceAssignmentReader,
  createDeviceAssignmentWriter,
} from './device-assignment-rows.ts'
import { createDevicePollReader, createDevicePollWriter } from './device-poll-rows.ts'
import { createDeviceReportReader, createDeviceReportWriter } from './device-report-rows.ts'
import { createGrantReader, createGrantWriter } from './grant-rows.ts'
import { createIdempotencyReader, createIdempotencyWriter } from './idempotency-rows.ts'
import { createInvitationReader, createInvitationWriter } from './invitation-rows.ts'
import { createKnownNetworkReader, createKnownNetworkWriter } from './known-network-rows.ts'
import { createMembershipReader, createMembershipWriter } from './membership-rows.ts'
import {
  createBumpRevision,
  createOrganizationReader,
  createOrganizationWriter,
  createUserReader,
  createUserWriter,
} from './organization-rows.ts'
import { createPolicyWriter } from './policy-changes.ts'
import { createPolicyReader } from './policy-rows.ts'
import {
  createSecretReader,
  createSecretWriter,
  createSigningKeyReader,
  createSigningKeyWriter,
} from './server-state-rows.ts'
import { createRolloutReader, createRolloutWriter } from './rollout-rows.ts'
import { createTeamReader, createTeamWriter } from './team-rows.ts'
import { createTrustReader, createTrustWriter } from './trust-rows.ts'
import { createViewReader, createViewWriter } from './view-rows.ts'
import { createWebhookReader, createWebhookWriter } from './webhook-rows.ts'
import type { WriterMemory } from './writer-memory.ts'

/** All readers of one connection, their statements prepared once. */
export function createReader(connection: Connection): StoreReader {
  return {
    organizations: createOrganizationReader(connection),
    users: createUserReader(connection),
    knownNetworks: createKnownNetworkReader(connection),
    memberships: createMembershipReader(connection),
    invitations: createInvitationReader(connection),
    teams: createTeamReader(connection),
    policies: createPolicyReader(connection),
    accessRequests: createAccessRequestReader(connection),
    accessTokens: createAccessTokenReader(connection),
    enrolmentTokens: createEnrolmentTokenReader(connection),
    devices: createDeviceReader(connection),
    grants: createGrantReader(connection),
    devicePolls: createDevicePollReader(connection),
    deviceAssignments: createDeviceAssignmentReader(connection),
    deviceReports: createDeviceReportReader(connection),
    signingKeys: createSigningKeyReader(connection),
    idempotency: createIdempotencyReader(connection),
    secrets: createSecretReader(connection),
    events: createEventReader(connection),
    webhooks: createWebhookReader(connection),
    deliveries: createDeliveryReader(connection),
    trust: createTrustReader(connection),
    views: createViewReader(connection),
    rollouts: createRolloutReader(connection),
  }
}

/** All writers of one connection; they read the rows in `memory` without a query. */
export function createWriter(connection: Connection, memory: WriterMemory): StoreWriter {
  const bumpRevision = createBumpRevision(connection, memory)
  return {
    organizations: createOrganizationWriter(connection, bumpRevision, memory),
    users: createUserWriter(connection),
    knownNetworks: createKnownNetworkWriter(connection),
    memberships: createMembershipWriter(connection, bumpRevision, memory),
    invitations: createInvitationWriter(connection),
    teams: createTeamWriter(connection, bumpRevision),
    policies: createPolicyWriter(connection, bumpRevision, memory),
    accessRequests: createAccessRequestWriter(connection),
    accessTokens: createAccessTokenWriter(connection),
    enrolmentTokens: createEnrolmentTokenWriter(connection),
    devices: createDeviceWriter(connection),
    grants: createGrantWriter(connection),
    devicePolls: createDevicePollWriter(connection),
    deviceAssignments: createDeviceAssignmentWriter(connection),
    deviceReports: createDeviceReportWriter(connection),
    signingKeys: createSigningKeyWriter(connection),
    idempotency: createIdempotencyWriter(connection),
    secrets: createSecretWriter(connection),
    events: createEventWriter(connection, memory),
    webhooks: createWebhookWriter(connection),
    deliveries: createDeliveryWriter(connection),
    trust: createTrustWriter(connection),
    views: createViewWriter(connection, memory),
    rollouts: createRolloutWriter(connection, bumpRevision, memory),
  }
}
