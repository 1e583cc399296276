import { hash } from 'node:crypto'
import type { EventRecord } from '../store/records.ts'
import { formatCanonicalJson } from './canonical-json.ts'

/**
 * The members that an event shows and that nothing else changes. `updated_at` of a policy follows
 * its rules, whose events do not show it.
 */
export const COMPARED = {
  organization: ['entitled', 'resolve_unlisted_names', 'created_at'],
  distribution: ['fresh_for_seconds', 'expires_after_seconds', 'offline_allow'],
  member: ['role', 'teams'],
  team: ['name'],
  policy: ['name', 'scope', 'created_at'],
  rule: ['name', 'actions', 'decision', 'resources'],
  access_token: ['permissions', 'expires_at', 'revoked_at'],
  enrolment_token: ['labels', 'max_uses', 'expires_at', 'revoked_at'],
  device: ['user', 'labels', 'revoked_at'],
  webhook: ['url', 'enabled'],
} as const

export type ItemKind = keyof typeof COMPARED

/** Digests of members, by their names. */
export type ItemDigest = ReadonlyMap<string, string>

export interface RecordedItem {
  readonly kind: ItemKind
  readonly id: string
  readonly name: string | null
  /** The last event of the item. */
  readonly sequence: number
  /** Null once it was deleted. */
  readonly digest: ItemDigest | null
}

/** The state that the events of one organization lead to. */
export interface RecordedState {
  /** In the order of the history. */
  apply(event: EventRecord): void
  find(kind: ItemKind, id: string): RecordedItem | undefined
  items(): Iterable<RecordedItem>
  /** Whether the history begins with the organization, so that it has an event of every item. */
  isWhole(): boolean
}

type State = Readonly<Record<string, unknown>>

export function createRecordedState(): RecordedState {
  const items = new Map<string, RecordedItem>()
  /** Ids of each member's teams, and of each policy's rules: both end without events of their own. */
  const members = new Map<string, Set<string>>()
  const rules = new Map<string, Set<string>>()
  let isWhole = false

  function put(kind: ItemKind, event: EventRecord, state: State | null, id = event.subject.id) {
    const { sequence, subject } = event
    const digest = state === null ? null : digestItem(kind, state)
    items.set(keyOf(kind, id), { kind, id, name: subject.name, sequence, digest })
  }

  function putMember(event: EventRecord): void {
    const { after, before } = event
    const username = (after ?? before)?.['username']
    if (typeof username !== 'string') return
    const state = after === null ? null : { ...after, teams: sortedTexts(after['teams']) }
    if (state === null) members.delete(username)
    else members.set(username, new Set(state.teams))
    put('member', { ...event, subject: { id: username, name: username } }, state)
  }

  /** The members leave the team with it. */
  function deleteTeam(event: EventRecord): void {
    put('team', event, null)
    for (const [username, teams] of members) {
      const known = items.get(keyOf('member', username))
      if (!teams.delete(event.subject.id) || known?.digest == null) continue
      const digest = new Map(known.digest)
      digest.set('teams', digestOf([...teams].toSorted()))
      items.set(keyOf('member', username), { ...known, digest })
    }
  }

  function putRule(event: EventRecord): void {
    const { policy_id: policy = '', id } = event.subject
    put('rule', event, event.after, `${policy}/${id}`)
    rules.set(policy, (rules.get(policy) ?? new Set()).add(id))
  }

  function deletePolicy(event: EventRecord): void {
    put('policy', event, null)
    for (const id of rules.get(event.subject.id) ?? [])
      put('rule', event, null, `${event.subject.id}/${id}`)
  }

  function putOrganization(event: EventRecord): void {
    const settings = event.after?.['distribution']
    if (isState(settings)) put('distribution', event, settings)
    else put('organization', event, event.after)
  }

  /** One with a user is personal, and stored with the account. */
  function putAccessToken(event: EventRecord): void {
    if (event.after?.['username'] === undefined) put('access_token', event, event.after)
  }

  const putAs = (kind: ItemKind) => (event: EventRecord) => put(kind, event, event.after)
  const handlers: Readonly<Partial<Record<string, (event: EventRecord) => void>>> = {
    'organization.created': putOrganization,
    'organization.updated': putOrganization,
    'member.added': putMember,
    'member.role_changed': putMember,
    'member.removed': putMember,
    'team.member_added': putMember,
    'team.member_removed': putMember,
    'team.created': putAs('team'),
    'team.deleted': deleteTeam,
    'policy.created': putAs('policy'),
    'policy.updated': putAs('policy'),
    'policy.deleted': deletePolicy,
    'rule.created': putRule,
    'rule.updated': putRule,
    'rule.deleted': putRule,
    'access_token.created': putAccessToken,
    'access_token.revoked': putAccessToken,
    'enrolment_token.created': putAs('enrolment_token'),
    'enrolment_token.revoked': putAs('enrolment_token'),
    'device.enrolled': putAs('device'),
    'device.labelled': putAs('device'),
    'device.revoked': putAs('device'),
    'webhook.created': putAs('webhook'),
    'webhook.updated': putAs('webhook'),
    'webhook.deleted': putAs('webhook'),
  }

  return {
    apply(event) {
      if (event.sequence === 1) isWhole = event.kind === 'organization.created'
      handlers[event.kind]?.(event)
    },
    find: (kind, id) => items.get(keyOf(kind, id)),
    items: () => items.values(),
    isWhole: () => isWhole,
  }
}

/** Digests of the compared members that `state` has: older events may lack the newest. */
export function digestItem(kind: ItemKind, state: State): ItemDigest {
  const digest = new Map<string, string>()
  for (const member of COMPARED[kind]) {
    // An event leaves out an instant of revocation that there is not.
    const value = member === 'revoked_at' ? (state[member] ?? null) : state[member]
    if (value !== undefined) digest.set(member, digestOf(value))
  }
  return digest
}

function digestOf(value: unknown): string {
  return hash('sha256', formatCanonicalJson(value), 'base64')
}

function keyOf(kind: ItemKind, id: string): string {
  return `${kind} ${id}`
}

function isState(value: unknown): value is State {
  return typeof value === 'object' && value !== null
}

function sortedTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String).toSorted() : []
}
