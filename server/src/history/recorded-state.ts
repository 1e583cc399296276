import type { HistoryItem } from '../store/contract/history.ts'
import type { EventRecord } from '../store/records.ts'
import {
  digestItem,
  digestOf,
  formatItem,
  parseItem,
  type ItemKind,
  type ItemState,
  type RecordedItem,
} from './recorded-item.ts'

/** Events that show the whole of their item, and change no other item. */
const SHOWN_BY: Readonly<Partial<Record<string, ItemKind>>> = {
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
  /** Whether the history begins with the organization, so that it has an event of every item. */
  isWhole(): boolean
  /** Items that changed since the last call, as `createRecordedState` takes them; null: deleted. */
  takeChanges(): Map<string, string | null>
}

/** The state that the removed events of an organization lead to. */
export interface RemovedState {
  readonly isWhole: boolean
  readonly items: readonly HistoryItem[]
}

const NO_EVENTS: RemovedState = { isWhole: false, items: [] }

/** Leaves out items that no `takeChanges` wrote: the digest with their checkpoint tells of them. */
export function createRecordedState(removed = NO_EVENTS): RecordedState {
  const items = new Map<string, RecordedItem>()
  /**
   * Ids of each member's teams, and of each policy's rules: both end without events of their own.
   */
  const members = new Map<string, Set<string>>()
  const rules = new Map<string, Set<string>>()
  let isWhole = removed.isWhole
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

  function set(key: string, item: RecordedItem): void {
    items.set(key, item)
    changed.add(key)
  }

  function put(kind: ItemKind, event: EventRecord, state: ItemState | null, id = event.subject.id) {
    const { sequence, subject } = event
    const digest = state === null ? null : digestItem(kind, state)
    set(keyOf(kind, id), { kind, id, name: subject.name, sequence, digest })
  }

  function putMember(event: EventRecord): void {
    const { after, before } = event
    const username = (after ?? before)?.['username']
    if (typeof username !== 'string') return
    const state = after === null ? null : { ...after, teams: sortedTexts(after['teams']) }
    if (state === null) members.delete(username)
    else members.set(username, new Set(state.teams))
    put('member', { ...event, subject: { id: username, name: username } }, state)
    if (state === null) endApprovers(event, (id) => id.endsWith(`/${username}`))
  }

  /** The members leave the team with it. */
  function deleteTeam(event: EventRecord): void {
    put('team', event, null)
    endApprovers(event, (id) => id.startsWith(`${event.subject.id}/`))
    for (const [username, teams] of members) {
      const known = items.get(keyOf('member', username))
      if (!teams.delete(event.subject.id) || known?.digest == null) continue
      const digest = new Map(known.digest)
      digest.set('teams', digestOf([...teams].toSorted()))
      set(keyOf('member', username), { ...known, digest })
    }
  }

  /** Approvers end with their membership or their team, without events of their own. */
  function endApprovers({ sequence }: EventRecord, isOf: (id: string) => boolean): void {
    for (const item of approversAmong(items.values(), isOf))
      set(keyOf('approver', item.id), { ...item, sequence, digest: null })
  }

  function putRule(event: EventRecord): void {
    const { policy_id: policy = '', id } = event.subject
    put('rule', event, event.after, `${policy}/${id}`)
    addRule(`${policy}/${id}`)
  }

  function deletePolicy(event: EventRecord): void {
    put('policy', event, null)
    for (const id of rules.get(event.subject.id) ?? [])
      put('rule', event, null, `${event.subject.id}/${id}`)
  }

  function putSettings(event: EventRecord): void {
    const { kind, state } = settingsOf(event)
    put(kind, event, state)
  }

  /** One with a user is personal, and stored with the account. */
  function putAccessToken(event: EventRecord): void {
    if (event.after?.['username'] === undefined) put('access_token', event, event.after)
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
    takeChanges: () => formatChanges(changed, items, members),
  }
}

function keyOf(kind: ItemKind, id: string): string {
  return `${kind} ${id}`
}

/** An event of the settings shows them alone. */
function settingsOf({ after }: EventRecord): { kind: ItemKind; state: ItemState | null } {
  for (const kind of ['distribution', 'access', 'evidence'] as const) {
    const state = after?.[kind]
    if (isState(state)) return { kind, state }
  }
  return { kind: 'organization', state: after }
}

function approverId({ subject, before, after }: EventRecord): string {
  return `${subject.id}/${String((after ?? before)?.['username'])}`
}

function approversAmong(
  items: Iterable<RecordedItem>,
  isOf: (id: string) => boolean,
): RecordedItem[] {
  return [...items].filter(
    ({ kind, id, digest }) => kind === 'approver' && digest !== null && isOf(id),
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
