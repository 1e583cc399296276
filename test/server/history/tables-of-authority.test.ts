import { expect, it } from 'vitest'
import { COMPARED } from '../../../server/src/history/recorded-item.ts'
import { TABLES } from '../../../server/src/store/aggregates/aggregates.ts'

/** The kind of item whose state `verify-history --state` compares. */
const KINDS: Readonly<Record<string, keyof typeof COMPARED>> = {
  organizations: 'organization',
  distribution_settings: 'distribution',
  evidence_settings: 'evidence',
  access_settings: 'access',
  memberships: 'member',
  team_members: 'member',
  invitations: 'invitation',
  teams: 'team',
  team_approvers: 'approver',
  policies: 'policy',
  policy_teams: 'policy',
  rules: 'rule',
  account_organizations: 'account',
  access_tokens: 'access_token',
  enrolment_tokens: 'enrolment_token',
  devices: 'device',
  device_labels: 'device',
  webhooks: 'webhook',
  access_requests: 'access_request',
  break_glass_grants: 'break_glass',
  rollouts: 'rollout',
  rollout_policies: 'rollout_policy',
}

/** Why the state of a table is not compared with events of an organization. */
const WITHOUT_KIND: Readonly<Record<string, string>> = {
  users: 'of the server: an account belongs to no organization',
  team_claims: 'of the server: which teams an issuer named last',
  known_networks: 'of the server: networks of a sign-in',
  pending_revocations: 'ends credentials, and never makes one',
  signing_keys: 'of the server; has no event when it begins',
  secrets: 'of the server; has no event when it begins',
  distribution_keys: 'the first keys have no event',
  distribution_roots: 'signed: machines verify it',
  views: 'signed: machines verify it',
  publications: 'signed: machines verify it',
  policy_documents: 'made again from policies',
  listed_documents: 'made again from policies',
  rollout_watches: 'an observation',
  device_polls: 'an observation',
  device_reports: 'an observation',
  device_assignments: 'made again from members, teams and grants',
  idempotency: 'answers that were given',
  idempotency_callers: 'a count',
  events: 'the history itself, which its hashes protect',
  event_heads: 'the history itself, which its hashes protect',
  history_checkpoints: 'the history itself, which its hashes protect',
  history_items: 'the history itself, which its hashes protect',
  webhook_deliveries: 'a queue',
}

it('compares every table with authority, and says why another is left out', () => {
  const names = TABLES.map(({ name }) => name).toSorted()

  expect([...Object.keys(KINDS), ...Object.keys(WITHOUT_KIND)].toSorted()).toEqual(names)
  expect(new Set(Object.values(KINDS))).toEqual(new Set(Object.keys(COMPARED)))
})
