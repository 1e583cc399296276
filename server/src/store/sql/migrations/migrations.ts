import type { Migration } from '../dialect.ts'
import { accountOrganizations } from './account-organizations.ts'
import { accounts } from './accounts.ts'
import { breakGlass } from './break-glass.ts'
import { deviceAssignments } from './device-assignments.ts'
import { deviceKeys } from './device-keys.ts'
import { deviceNames } from './device-names.ts'
import { deviceReports } from './device-reports.ts'
import { deviceSearch } from './device-search.ts'
import { distributionSettings } from './distribution-settings.ts'
import { enrolmentTokens } from './enrolment-tokens.ts'
import { events } from './events.ts'
import { externalSessions } from './external-sessions.ts'
import { failedSignIns } from './failed-sign-ins.ts'
import { historyBytes } from './history-bytes.ts'
import { historyCheckpoints } from './history-checkpoints.ts'
import { initial } from './initial.ts'
import { invitations } from './invitations.ts'
import { keptAnswers } from './kept-answers.ts'
import { knownNetworks } from './known-networks.ts'
import { lastSeen } from './last-seen.ts'
import { liveIndexes } from './live-indexes.ts'
import { listingIndexes } from './listing-indexes.ts'
import { ownerIndex } from './owner-index.ts'
import { pendingRevocations } from './pending-revocations.ts'
import { publications } from './publications.ts'
import { rolloutBases } from './rollout-bases.ts'
import { rollouts } from './rollouts.ts'
import { rulesInOrder } from './rules-in-order.ts'
import { teamClaims } from './team-claims.ts'
import { teamsSynced } from './teams-synced.ts'
import { views } from './views.ts'
import { webhooks } from './webhooks.ts'

/**
 * The schema, as steps that only go forward, the same for all drivers; the step at index n leads
 * to version n + 1. A released step is never edited.
 */
export const MIGRATIONS: readonly Migration[] = [
  initial,
  accounts,
  events,
  webhooks,
  lastSeen,
  accountOrganizations,
  externalSessions,
  views,
  enrolmentTokens,
  distributionSettings,
  deviceKeys,
  deviceReports,
  publications,
  breakGlass,
  rollouts,
  rulesInOrder,
  knownNetworks,
  teamsSynced,
  liveIndexes,
  deviceSearch,
  listingIndexes,
  invitations,
  failedSignIns,
  historyCheckpoints,
  rolloutBases,
  deviceNames,
  ownerIndex,
  historyBytes,
  teamClaims,
  keptAnswers,
  pendingRevocations,
  deviceAssignments,
]
