import type { Table } from './aggregate.ts'
import { ACCESS_TOKENS } from './credentials/access-tokens.ts'
import { ENROLMENT_TOKENS } from './credentials/enrolment-tokens.ts'
import { IDEMPOTENCY } from './credentials/idempotency.ts'
import { SECRETS } from './credentials/secrets.ts'
import { SIGNING_KEYS } from './credentials/signing-keys.ts'
import { DEVICE_ASSIGNMENTS } from './devices/device-assignments.ts'
import { DEVICE_POLLS } from './devices/device-polls.ts'
import { DEVICE_REPORTS } from './devices/device-reports.ts'
import { DEVICES } from './devices/devices.ts'
import { GRANTS } from './devices/grants.ts'
import { TRUST } from './distribution/trust.ts'
import { VIEWS } from './distribution/views.ts'
import { DELIVERIES } from './history/deliveries.ts'
import { EVENTS } from './history/events.ts'
import { WEBHOOKS } from './history/webhooks.ts'
import { INVITATIONS } from './people/invitations.ts'
import { KNOWN_NETWORKS } from './people/known-networks.ts'
import { MEMBERSHIPS } from './people/memberships.ts'
import { ORGANIZATIONS } from './people/organizations.ts'
import { TEAMS } from './people/teams.ts'
import { USERS } from './people/users.ts'
import { ACCESS_REQUESTS } from './policies/access-requests.ts'
import { POLICIES } from './policies/policies.ts'
import { ROLLOUTS } from './policies/rollouts.ts'

/** Every aggregate of the store, each after those that its tables refer to. */
export const AGGREGATES = {
  organizations: ORGANIZATIONS,
  users: USERS,
  knownNetworks: KNOWN_NETWORKS,
  memberships: MEMBERSHIPS,
  invitations: INVITATIONS,
  teams: TEAMS,
  policies: POLICIES,
  accessTokens: ACCESS_TOKENS,
  enrolmentTokens: ENROLMENT_TOKENS,
  devices: DEVICES,
  grants: GRANTS,
  devicePolls: DEVICE_POLLS,
  deviceReports: DEVICE_REPORTS,
  deviceAssignments: DEVICE_ASSIGNMENTS,
  accessRequests: ACCESS_REQUESTS,
  signingKeys: SIGNING_KEYS,
  idempotency: IDEMPOTENCY,
  secrets: SECRETS,
  events: EVENTS,
  webhooks: WEBHOOKS,
  deliveries: DELIVERIES,
  trust: TRUST,
  rollouts: ROLLOUTS,
  views: VIEWS,
}

export type Aggregates = typeof AGGREGATES

/** Every table of the schema, in the order of a copy. */
export const TABLES: readonly Table[] = Object.values(AGGREGATES).flatMap(({ tables }) => tables)
