import type { StoreWriter } from '../../store/store.ts'
import { auditAccessRequests } from './audit-access-requests.ts'
import {
  auditAccessTokens,
  auditDevices,
  auditEnrolmentTokens,
  auditGrants,
  auditSigningKeys,
} from './audit-credentials.ts'
import { auditOrganizations } from './audit-organizations.ts'
import {
  auditInvitations,
  auditKnownNetworks,
  auditMemberships,
  auditTeams,
  auditUsers,
} from './audit-people.ts'
import { auditPolicies } from './audit-policies.ts'
import { auditRollouts } from './audit-rollouts.ts'
import { auditTrust } from './audit-trust.ts'
import { auditWebhooks } from './audit-webhooks.ts'
import type { RecordChange } from '../change.ts'
import type { EventWriter } from '../../store/contract/history.ts'
import { describeCheckpoint } from '../describe-checkpoint.ts'

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/**
 * A writer whose every write tells `record` its change. Each `audit…` returns all methods that
 * write and no others, so that the compiler refuses a new one until its event is defined.
 *
 * Left out on purpose, because they change no decision: kept answers of idempotent requests, the
 * server's own secrets, uses of tokens, verdicts on rollouts, and the progress of deliveries.
 */
export function createAuditedWriter(writer: StoreWriter, record: RecordChange): StoreWriter {
  return new AuditedWriter(writer, record)
}

/**
 * For one transaction. Each part is made when it is first used: most transactions write one. A
 * class, because its getters are made once, where those of an object took as long as writing a row.
 */
class AuditedWriter implements StoreWriter {
  readonly #writer: StoreWriter
  readonly #record: RecordChange
  readonly #made: Partial<Mutable<StoreWriter>> = {}

  constructor(writer: StoreWriter, record: RecordChange) {
    this.#writer = writer
    this.#record = record
  }

  get organizations() {
    return (this.#made.organizations ??= {
      ...this.#writer.organizations,
      ...auditOrganizations(this.#writer.organizations, this.#record),
    })
  }

  get users() {
    return (this.#made.users ??= {
      ...this.#writer.users,
      ...auditUsers(this.#writer.users, this.#record),
    })
  }

  get knownNetworks() {
    return (this.#made.knownNetworks ??= {
      ...this.#writer.knownNetworks,
      ...auditKnownNetworks(this.#writer.knownNetworks, this.#record),
    })
  }

  get memberships() {
    return (this.#made.memberships ??= {
      ...this.#writer.memberships,
      ...auditMemberships(this.#writer, this.#record),
    })
  }

  get invitations() {
    return (this.#made.invitations ??= {
      ...this.#writer.invitations,
      ...auditInvitations(this.#writer, this.#record),
    })
  }

  get teams() {
    return (this.#made.teams ??= {
      ...this.#writer.teams,
      ...auditTeams(this.#writer, this.#record),
    })
  }

  get policies() {
    return (this.#made.policies ??= {
      ...this.#writer.policies,
      ...auditPolicies(this.#writer.policies, this.#record),
    })
  }

  get accessRequests() {
    return (this.#made.accessRequests ??= {
      ...this.#writer.accessRequests,
      ...auditAccessRequests(this.#writer, this.#record),
    })
  }

  get accessTokens() {
    return (this.#made.accessTokens ??= {
      ...this.#writer.accessTokens,
      ...auditAccessTokens(this.#writer.accessTokens, this.#record),
    })
  }

  get enrolmentTokens() {
    return (this.#made.enrolmentTokens ??= {
      ...this.#writer.enrolmentTokens,
      ...auditEnrolmentTokens(this.#writer.enrolmentTokens, this.#record),
    })
  }

  get devices() {
    return (this.#made.devices ??= {
      ...this.#writer.devices,
      ...auditDevices(this.#writer.devices, this.#record),
    })
  }

  get grants() {
    return (this.#made.grants ??= {
      ...this.#writer.grants,
      ...auditGrants(this.#writer.grants, this.#record),
    })
  }

  get signingKeys() {
    return (this.#made.signingKeys ??= {
      ...this.#writer.signingKeys,
      ...auditSigningKeys(this.#writer.signingKeys, this.#record),
    })
  }

  get webhooks() {
    return (this.#made.webhooks ??= {
      ...this.#writer.webhooks,
      ...auditWebhooks(this.#writer.webhooks, this.#record),
    })
  }

  get trust() {
    return (this.#made.trust ??= {
      ...this.#writer.trust,
      ...auditTrust(this.#writer.trust, this.#record),
    })
  }

  get rollouts() {
    return (this.#made.rollouts ??= {
      ...this.#writer.rollouts,
      ...auditRollouts(this.#writer.rollouts, this.#record),
    })
  }

  // Polls, reports and assignments of a device change no decision of a user.
  get devicePolls() {
    return this.#writer.devicePolls
  }

  get deviceAssignments() {
    return this.#writer.deviceAssignments
  }

  get deviceReports() {
    return this.#writer.deviceReports
  }

  get deliveries() {
    return this.#writer.deliveries
  }

  // Signed files follow from changes that are in the history.
  get views() {
    return this.#writer.views
  }

  get idempotency() {
    return this.#writer.idempotency
  }

  get secrets() {
    return this.#writer.secrets
  }

  get events() {
    return (this.#made.events ??= {
      ...this.#writer.events,
      ...auditEvents(this.#writer.events, this.#record),
      append: () => Promise.reject(new TypeError('only the audited store writes events')),
    })
  }
}

/**
 * The event of a removal holds the checkpoint and a digest of the state kept with it. An attacker
 * who moves the checkpoint or edits that state must recompute all later hashes.
 */
function auditEvents(events: EventWriter, record: RecordChange): Pick<EventWriter, 'prune'> {
  return {
    async prune(org, pruning) {
      const before = await events.checkpoint(org)
      const skipped = await events.prune(org, pruning)
      const after = await describeCheckpoint(events, org)
      await record({
        place: { org },
        kind: 'history.pruned',
        subject: { id: org, name: org },
        before: before === null ? null : { removed_through: before.sequence },
        after: { ...after, ...(skipped.length === 0 ? {} : { skipped }) },
      })
      return skipped
    },
  }
}
