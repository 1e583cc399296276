import type { StoreWriter } from '../store/store.ts'
import {
  auditAccessTokens,
  auditDevices,
  auditEnrolmentTokens,
  auditGrants,
  auditSigningKeys,
} from './audit-credentials.ts'
import { auditOrganizations } from './audit-organizations.ts'
import { auditMemberships, auditTeams, auditUsers } from './audit-people.ts'
import { auditPolicies } from './audit-policies.ts'
import { auditRollouts } from './audit-rollouts.ts'
import { auditTrust } from './audit-trust.ts'
import { auditWebhooks } from './audit-webhooks.ts'
import type { RecordChange } from './change.ts'

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/**
 * A writer whose every write tells `record` what it changed. Each `audit…` answers all methods that
 * write and no others, so that the compiler refuses a new one until somebody has said what it is
 * in the history.
 *
 * Left out on purpose: kept answers of idempotent requests, the server's own secrets, when a token
 * was used, when a rollout was judged, and how far deliveries have come, which are no change of anything.
 */
export function createAuditedWriter(writer: StoreWriter, record: RecordChange): StoreWriter {
  // Made when first used: most transactions write one part.
  const made: Partial<Mutable<StoreWriter>> = {}
  return {
    get organizations() {
      return (made.organizations ??= {
        ...writer.organizations,
        ...auditOrganizations(writer.organizations, record),
      })
    },
    get users() {
      return (made.users ??= { ...writer.users, ...auditUsers(writer.users, record) })
    },
    get memberships() {
      return (made.memberships ??= { ...writer.memberships, ...auditMemberships(writer, record) })
    },
    get teams() {
      return (made.teams ??= { ...writer.teams, ...auditTeams(writer, record) })
    },
    get policies() {
      return (made.policies ??= { ...writer.policies, ...auditPolicies(writer.policies, record) })
    },
    get accessTokens() {
      return (made.accessTokens ??= {
        ...writer.accessTokens,
        ...auditAccessTokens(writer.accessTokens, record),
      })
    },
    get enrolmentTokens() {
      return (made.enrolmentTokens ??= {
        ...writer.enrolmentTokens,
        ...auditEnrolmentTokens(writer.enrolmentTokens, record),
      })
    },
    get devices() {
      return (made.devices ??= { ...writer.devices, ...auditDevices(writer.devices, record) })
    },
    get grants() {
      return (made.grants ??= { ...writer.grants, ...auditGrants(writer.grants, record) })
    },
    // That a device polls or reports changes nothing that anybody decided.
    devicePolls: writer.devicePolls,
    deviceReports: writer.deviceReports,
    get signingKeys() {
      return (made.signingKeys ??= {
        ...writer.signingKeys,
        ...auditSigningKeys(writer.signingKeys, record),
      })
    },
    get webhooks() {
      return (made.webhooks ??= { ...writer.webhooks, ...auditWebhooks(writer.webhooks, record) })
    },
    deliveries: writer.deliveries,
    get trust() {
      return (made.trust ??= { ...writer.trust, ...auditTrust(writer.trust, record) })
    },
    get rollouts() {
      return (made.rollouts ??= { ...writer.rollouts, ...auditRollouts(writer.rollouts, record) })
    },
    // What is signed follows from what was changed, and that is in the history.
    views: writer.views,
    idempotency: writer.idempotency,
    secrets: writer.secrets,
    events: {
      ...writer.events,
      append: () => Promise.reject(new TypeError('events are written by the audited store alone')),
    },
  }
}
