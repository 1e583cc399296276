import type { EventRecord } from '../store/records.ts'
import { baseAfter } from './recorded-base.ts'
import {
  digestItem,
  digestOf,
  formatItem,
  parseItem,
  type ItemKind,
  type ItemState,
  type RecordedItem,
} from './recorded-item.ts'
import { findUnkept, NO_EVENTS } from './removed-state.ts'

/** Events that show the whole of their item, and change no other item. */
const SHOWN_BY: Readonly<Partial<Record<string, ItemKind>>> = {
  'user.created': 'account',
  'invitation.created': 'invitation',
  'invitation.ended': 'invitation',
  'team.created': 'team',
  'team.updated': 'team',
  'policy.created': 'policy',
  'policy.updated': 'policy',
  'enrolment_token.created': 'enrolment_token',
  'enrolment_token.revoked': 'enrolment_token',
  'device.enrolled': 'device',
  'device.labelled': 'device',
  'device.renamed': 'device',
  'device.revoked': 'device',
  'webhook.created': 'webhook',
  'webhook.updated': 'webhook',
  'webhook.deleted': 'webhook',
  'access.requested': 'access_request',
  'access.approved': 'access_request',
  'break_glass.issued': 'break_glass',
  'rollout.started': 'rollout',
  'rollout.advanced': 'rollout',
  'rollout.paused': 'rollout',
  'rollout.resumed': 'rollout',
}

/** Events that end their item. Those of requests show the decision alone. */
const ENDED_BY: Readonly<Partial<Record<string, ItemKind>>> = {
  'team.deleted': 'team',
  'policy.deleted': 'policy',
  'access.rejected': 'access_request',
  'access.revoked': 'access_request',
  'access.withdrawn': 'access_request',
  'access.expired': 'access_request',
  'access.lapsed': 'access_request',
  'rollout.finished': 'rollout',
  'rollout.rolled_back': 'rollout',
}

/** The state that the events of one organization lead to. */
export interface RecordedState {
  /** In the order of the history. */
  apply(event: EventRecord): void
  find(kind: ItemKind, id: string): RecordedItem | undefined
  items(): Iterable<RecordedItem>
  /** Whether the history begins with the organization. */
  isWhole(): boolean
  /** Whether it has an event of every item of the kind, since it begins with the organization. */
  hasAll(kind: ItemKind): boolean
  /** Items that changed since the last call, as `createRecordedState` takes them; null: deleted. */
  takeChanges(): Map<string, string | null>
}

/** Leaves out items that no `takeChanges` wrote: the digest with their checkpoint tells of them. */
export function createRecordedState(removed = NO_EVENTS): RecordedState {
  const items = new Map<string, RecordedItem>()
  /**
   * Ids of each member's teams, and of each policy's rules: both end without events of their own.
   */
  const members = new Map<string, Set<string>>()
  const rules = new Map<string, Set<string>>()
  let isWhole = removed.isWhole
  /** They are not kept later either: a part of them would pass for all. */
  const unkept = findUnkept(removed)
  const changed = new Set<string>()

  for (const { item, teams } of removed.items.flatMap(parseItem)) {
    items.set(keyOf(item.kind, item.id), item)
    if (item.kind === 'member') members.set(item.id, teams)
    if (item.kind === 'rule') addRule(item.id)
  }

  function addRule(id: string): void {
    const policy = id.slice(0, id.indexOf('/'))
    rules.set(policy, (rules.get(policy) ?? new Set()).add(id.slice(policy.length + 1)))
  }

  function set(list: readonly RecordedItem[]): void {
    for (const item of list) {
      const key = keyOf(item.kind, item.id)
      items.set(key, item)
      if (!unkept.has(item.kind)) changed.add(key)
    }
  }

  function put(kind: ItemKind, event: EventRecord, state: ItemState | null, id = event.subject.id) {
    const { sequence, subject } = event
    const digest = state === null ? null : digestItem(kind, state)
    set([{ kind, id, name: subject.name, sequence, digest }])
  }

  function putMember(event: EventRecord): void {
    const { after, before } = event
    const username = (after ?? before)?.['username']
    if (typeof username !== 'string') return
    const state = after === null ? null : { ...after, teams: sortedTexts(after['teams']) }
    put('member', { ...event, subject: { id: username, name: username } }, state)
    if (state !== null) return void members.set(username, new Set(state.teams))
    members.delete(username)
    set(endApprovers(event, items.values(), (id) => id.endsWith(`/${username}`)))
  }

  /** The members leave the team with it. */
  function deleteTeam(event: EventRecord): void {
    set(endApprovers(event, items.values(), (id) => id.startsWith(`${event.subject.id}/`)))
    for (const [username, teams] of members) {
      const known = items.get(keyOf('member', username))
      if (!teams.delete(event.subject.id) || known?.digest == null) continue
      const digest = new Map(known.digest).set('teams', digestOf([...teams].toSorted()))
      set([{ ...known, digest }])
    }
  }

  function putRule(event: EventRecord): void {
    const { policy_id: policy = '', id } = event.subject
    put('rule', event, event.after, `${policy}/${id}`)
    addRule(`${policy}/${id}`)
  }

  function deletePolicy(event: EventRecord): void {
    for (const id of rules.get(event.subject.id) ?? [])
      put('rule', event, null, `${event.subject.id}/${id}`)
  }

  const putSettings = (event: EventRecord) => put(...settingsOf(event))

  /** One with a user is personal, and stored with the account. */
  function putAccessToken(event: EventRecord): void {
    if (event.after?.['username'] === undefined) put('access_token', event, event.after)
  }

  /** One that starts leaves out no copies; one that ends has none. */
  function putBase(event: EventRecord): void {
    unkept.delete('rollout_policy')
    set(baseAfter(event, items.values(), isWhole))
  }

  const handlers: Readonly<Partial<Record<string, (event: EventRecord) => void>>> = {
    'organization.created': putSettings,
    'organization.updated': putSettings,
    'member.added': putMember,
    'member.role_changed': putMember,
    'member.removed': putMember,
    'team.member_added': putMember,
    'team.member_removed': putMember,
    'team.deleted': deleteTeam,
    'team.approver_added': (event) => put('approver', event, event.after, approverId(event)),
    'team.approver_removed': (event) => put('approver', event, null, approverId(event)),
    'policy.deleted': deletePolicy,
    'rule.created': putRule,
    'rule.updated': putRule,
    'rule.deleted': putRule,
    'rollout.started': putBase,
    'rollout.finished': putBase,
    'rollout.rolled_back': putBase,
    'access_token.created': putAccessToken,
    'access_token.revoked': putAccessToken,
  }

  return {
    apply(event) {
      if (event.sequence === 1) isWhole = event.kind === 'organization.created'
      handlers[event.kind]?.(event)
      const [shown, ended] = [SHOWN_BY[event.kind], ENDED_BY[event.kind]]
      if (shown !== undefined) put(shown, event, event.after)
      if (ended !== undefined) put(ended, event, null)
    },
    find: (kind, id) => items.get(keyOf(kind, id)),
    items: () => items.values(),
    isWhole: () => isWhole,
    hasAll: (kind) => isWhole && !unkept.has(kind),
    takeChanges: () => formatChanges(changed, items, members),
  }
}

function keyOf(kind: ItemKind, id: string): string {
  return `${kind} ${id}`
}

/** An event of the settings shows them alone. */
function settingsOf(event: EventRecord): [ItemKind, EventRecord, ItemState | null] {
  for (const kind of ['distribution', 'access', 'evidence'] as const) {
    const state = event.after?.[kind]
    if (isState(state)) return [kind, event, state]
  }
  return ['organization', event, event.after]
}

function approverId({ subject, before, after }: EventRecord): string {
  return `${subject.id}/${String((after ?? before)?.['username'])}`
}

/** Approvers end with their membership or their team, without events of their own. */
function endApprovers(
  { sequence }: EventRecord,
  items: Iterable<RecordedItem>,
  isOf: (id: string) => boolean,
): RecordedItem[] {
  return [...items].flatMap((item) =>
    item.kind === 'approver' && item.digest !== null && isOf(item.id)
      ? { ...item, sequence, digest: null }
      : [],
  )
}

function isState(value: unknown): value is ItemState {
  return typeof value === 'object' && value !== null
}

function sortedTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String).toSorted() : []
}

/** Clears `changed`. */
function formatChanges(
  changed: Set<string>,
  items: ReadonlyMap<string, RecordedItem>,
  members: ReadonlyMap<string, ReadonlySet<string>>,
): Map<string, string | null> {
  const taken = new Map(
    [...changed].map((key) => {
      const item = items.get(key)
      return [key, formatItem(item, members.get(item?.id ?? ''))]
    }),
  )
  changed.clear()
  return taken
}
