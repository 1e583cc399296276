import {
  formatDetailedPolicy,
  formatDetailedRule,
} from '../store/aggregates/policies/format-policy.ts'
import type { AccessState } from '@palisade/protocol'
import type { StoreReader } from '../store/store.ts'
import { formatAccessRequest } from '../store/aggregates/policies/format-access-request.ts'
import { formatRollout } from '../store/aggregates/policies/format-rollout.ts'
import { describeCopy } from './recorded-base.ts'
import type { ItemKind } from './recorded-item.ts'

/** Devices, requests or names read at once. */
const PAGE = 1000

/** An item of an organization as it is stored, in the form of its events. */
export interface StoredItem {
  readonly kind: ItemKind
  readonly id: string
  readonly name: string | null
  readonly state: Readonly<Record<string, unknown>>
}

/** Every item of the organization that its events show. */
export async function* readStoredItems(
  reader: StoreReader,
  org: string,
): AsyncGenerator<StoredItem> {
  const organization = await reader.organizations.find(org)
  if (organization !== null)
    yield { kind: 'organization', id: org, name: org, state: { ...organization } }
  const distribution = await reader.organizations.distribution(org)
  yield { kind: 'distribution', id: org, name: org, state: { ...distribution } }
  const evidence = await reader.organizations.evidence(org)
  yield { kind: 'evidence', id: org, name: org, state: { ...evidence } }
  const access = await reader.organizations.access(org)
  yield { kind: 'access', id: org, name: org, state: { ...access } }
  yield* readPeople(reader, org)
  yield* readPolicies(reader, org)
  yield* readCredentials(reader, org)
  yield* readAccess(reader, org)
  yield* readRollout(reader, org)
  for (const webhook of await reader.webhooks.list(org))
    yield { kind: 'webhook', id: webhook.id, name: webhook.url, state: { ...webhook } }
}

async function* readPeople(reader: StoreReader, org: string): AsyncGenerator<StoredItem> {
  for (const team of await reader.teams.list(org))
    yield { kind: 'team', id: team.id, name: team.name, state: { ...team } }
  const teams = await reader.teams.listOfUsers(org)
  for (const { username, role } of await reader.memberships.list(org)) {
    const state = { role, teams: (teams.get(username) ?? []).toSorted() }
    yield { kind: 'member', id: username, name: username, state }
  }
  for (let after = ''; ;) {
    const accounts = await reader.memberships.accountsOf(org, { after, limit: PAGE })
    for (const username of accounts)
      yield { kind: 'account', id: username, name: username, state: { username } }
    after = accounts.at(-1) ?? after
    if (accounts.length < PAGE) break
  }
  for (const invitation of await reader.invitations.list(org)) {
    const { username } = invitation
    yield { kind: 'invitation', id: username, name: username, state: { ...invitation } }
  }
}

async function* readPolicies(reader: StoreReader, org: string): AsyncGenerator<StoredItem> {
  for (const policy of await reader.policies.listWithRules(org)) {
    const { id, name } = policy
    yield { kind: 'policy', id, name, state: { ...formatDetailedPolicy({ ...policy, rules: [] }) } }
    for (const rule of policy.rules)
      yield {
        kind: 'rule',
        id: `${id}/${rule.id}`,
        name: rule.name,
        state: { ...formatDetailedRule(rule) },
      }
  }
}

async function* readCredentials(reader: StoreReader, org: string): AsyncGenerator<StoredItem> {
  for (const token of await reader.accessTokens.listOfOrganization(org))
    yield { kind: 'access_token', id: token.id, name: token.name, state: { ...token } }
  for (const token of await reader.enrolmentTokens.list(org))
    yield { kind: 'enrolment_token', id: token.id, name: token.name, state: { ...token } }
  let after = ''
  for (;;) {
    const page = { after, window: PAGE, limit: PAGE }
    const { devices } = await reader.devices.search(org, {}, page)
    for (const device of devices) {
      const state = { ...device, user: device.username }
      yield { kind: 'device', id: device.id, name: device.username, state }
      // All of them: `over_at` is later than the empty text.
      for (const grant of await reader.grants.listOutstanding(org, device.id, ''))
        yield { kind: 'break_glass', id: grant.id, name: null, state: { ...grant } }
      after = device.id
    }
    if (devices.length < PAGE) return
  }
}

async function* readRollout(reader: StoreReader, org: string): AsyncGenerator<StoredItem> {
  const { rollouts } = reader
  const rolloutId = await rollouts.findOpenId(org)
  if (rolloutId === null) return
  const rollout = await readOrEmpty(async () => {
    const open = await rollouts.findOpen(org)
    return open === null ? null : { name: null, state: { ...formatRollout(open) } }
  })
  if (rollout !== null) yield { kind: 'rollout', id: rolloutId, ...rollout }
  for (const id of await rollouts.baseIds(org, rolloutId)) {
    const copy = await readOrEmpty(async () => {
      const policy = await rollouts.basePolicy(org, rolloutId, id)
      return policy === null ? null : { name: policy.name, state: describeCopy(policy) }
    })
    if (copy !== null) yield { kind: 'rollout_policy', id, ...copy }
  }
}

type Described = Pick<StoredItem, 'name' | 'state'>

/** A row that was edited into another form has no state, and so differs from every event. */
async function readOrEmpty(read: () => Promise<Described | null>): Promise<Described | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return { name: null, state: {} }
    throw error
  }
}

/** Requests that wait or have a grant, and those who answer them. Others grant nothing. */
async function* readAccess(reader: StoreReader, org: string): AsyncGenerator<StoredItem> {
  for (const state of ['pending', 'approved'] as const) yield* readRequests(reader, org, state)
  for (const { id: team, name } of await reader.teams.list(org)) {
    let after = ''
    for (;;) {
      const names = await reader.accessRequests.approvers(org, team, { after, limit: PAGE })
      for (const username of names) {
        yield { kind: 'approver', id: `${team}/${username}`, name, state: { username } }
        after = username
      }
      if (names.length < PAGE) break
    }
  }
}

async function* readRequests(
  reader: StoreReader,
  org: string,
  state: AccessState,
): AsyncGenerator<StoredItem> {
  let before = ''
  for (;;) {
    const page = { before, limit: PAGE, state, username: null, seenBy: null }
    const requests = await reader.accessRequests.page(org, page)
    for (const request of requests) {
      const { id, username } = request
      yield {
        kind: 'access_request',
        id,
        name: username,
        state: { ...formatAccessRequest(request) },
      }
      before = id
    }
    if (requests.length < PAGE) return
  }
}
