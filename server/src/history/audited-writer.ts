import type { StoreWriter } from '../store/store.ts'
import { auditAccessTokens, auditDevices, auditSigningKeys } from './audit-credentials.ts'
import { auditOrganizations } from './audit-organizations.ts'
import { auditMemberships, auditTeams, auditUsers } from './audit-people.ts'
import { auditPolicies } from './audit-policies.ts'
import { auditWebhooks } from './audit-webhooks.ts'
import type { RecordChange } from './change.ts'

/**
 * A writer whose every write tells `record` what it changed. Each `audit…` answers all methods that
 * write and no others, so that the compiler refuses a new one until somebody has said what it is
 * in the history.
 *
 * Left out on purpose: kept answers of idempotent requests, the server's own secrets, when a token
 * was last used, and how far deliveries have come, which are no change of anything.
 */
export function createAuditedWriter(writer: StoreWriter, record: RecordChange): StoreWriter {
  return {
    organizations: {
      ...writer.organizations,
      ...auditOrganizations(writer.organizations, record),
    },
    users: { ...writer.users, ...auditUsers(writer.users, record) },
    memberships: { ...writer.memberships, ...auditMemberships(writer, record) },
    teams: { ...writer.teams, ...auditTeams(writer, record) },
    policies: { ...writer.policies, ...auditPolicies(writer.policies, record) },
    accessTokens: { ...writer.accessTokens, ...auditAccessTokens(writer.accessTokens, record) },
    devices: { ...writer.devices, ...auditDevices(writer.devices, record) },
    // That a device polls changes nothing that anybody decided.
    devicePolls: writer.devicePolls,
    signingKeys: { ...writer.signingKeys, ...auditSigningKeys(writer.signingKeys, record) },
    webhooks: { ...writer.webhooks, ...auditWebhooks(writer.webhooks, record) },
    deliveries: writer.deliveries,
    // What is signed follows from what was changed, and that is in the history.
    trust: writer.trust,
    views: writer.views,
    idempotency: writer.idempotency,
    secrets: writer.secrets,
    events: {
      ...writer.events,
      append: () => Promise.reject(new TypeError('events are written by the audited store alone')),
    },
  }
}
