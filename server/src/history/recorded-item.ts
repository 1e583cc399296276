import { parseJson } from '@palisade/protocol'
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { HistoryItem } from '../store/aggregates/history/event-contract.ts'
import { formatCanonicalJson } from './canonical-json.ts'

/**
 * The members that only this event changes. `updated_at` of a policy follows its rules, whose
 * events do not show it.
 */
export const COMPARED = {
  organization: ['entitled', 'resolve_unlisted_names', 'default', 'support_message', 'created_at'],
  distribution: ['fresh_for_seconds', 'expires_after_seconds', 'offline_allow'],
  access: ['longest_seconds', 'most_open', 'answer_within_seconds'],
  evidence: ['upload', 'sample_percent', 'path_depth', 'programs', 'users'],
  member: ['role', 'teams'],
  invitation: ['role'],
  team: ['name', 'default'],
  policy: ['name', 'scope', 'mode', 'created_at'],
  rule: ['name', 'actions', 'decision', 'resources', 'expires_at'],
  account: ['username'],
  access_token: ['permissions', 'created_by', 'parent_id', 'expires_at', 'revoked_at'],
  enrolment_token: ['labels', 'max_uses', 'created_by', 'parent_id', 'expires_at', 'revoked_at'],
  device: ['name', 'user', 'thumbprint', 'labels', 'revoked_at'],
  webhook: ['url', 'enabled'],
  approver: ['username'],
  access_request: [
    'username',
    'action',
    'resources',
    'duration_seconds',
    'once',
    'state',
    'decided_by',
    'grant',
  ],
  break_glass: ['device_id', 'use_by', 'duration_seconds'],
  rollout: ['state', 'stages', 'stage', 'max_rejected', 'wait_seconds', 'base_revision'],
  rollout_policy: ['name', 'scope', 'mode', 'created_at', 'rules'],
} as const

export type ItemKind = keyof typeof COMPARED

/** Members that events leave out while they have no value. */
const OPTIONAL: Readonly<Partial<Record<ItemKind, readonly string[]>>> = {
  organization: ['default', 'support_message'],
  team: ['default'],
  policy: ['mode'],
  rollout_policy: ['mode'],
  rule: ['expires_at'],
  access_token: ['revoked_at'],
  enrolment_token: ['revoked_at'],
  device: ['revoked_at'],
}

/** Digests of members, by their names. */
export type ItemDigest = ReadonlyMap<string, string>

/** An item of an organization after its last event. */
export interface RecordedItem {
  readonly kind: ItemKind
  readonly id: string
  readonly name: string | null
  /** The last event of the item. */
  readonly sequence: number
  /** Null once it was deleted. */
  readonly digest: ItemDigest | null
}

/** An item as an event shows it. */
export type ItemState = Readonly<Record<string, unknown>>

/** `teams` are ids of a member's teams. */
const keptItemSchema = z.strictObject({
  kind: z.enum(Object.keys(COMPARED) as [ItemKind, ...ItemKind[]]),
  id: z.string(),
  name: z.string().nullable(),
  sequence: z.number(),
  digest: z.record(z.string(), z.string()),
  teams: z.array(z.string()),
})
type KeptItem = z.infer<typeof keptItemSchema>

/** Digests of the compared members that `state` has. */
export function digestItem(kind: ItemKind, state: ItemState): ItemDigest {
  const digest = new Map<string, string>()
  const optional = OPTIONAL[kind] ?? []
  for (const member of COMPARED[kind]) {
    const value = optional.includes(member) ? (state[member] ?? null) : state[member]
    if (value !== undefined) digest.set(member, digestOf(value))
  }
  return digest
}

export function digestOf(value: unknown): string {
  return hash('sha256', formatCanonicalJson(value), 'base64')
}

/** The text that is kept when the events of the item are removed; null for an ended item. */
export function formatItem(
  item: RecordedItem | undefined,
  teams: ReadonlySet<string> = new Set(),
): string | null {
  if (item?.digest == null || isEnded(item.kind, item.digest)) return null
  const kept: KeptItem = {
    ...item,
    digest: Object.fromEntries(item.digest),
    teams: item.kind === 'member' ? [...teams].toSorted() : [],
  }
  return JSON.stringify(kept)
}

/** Reads a text of `formatItem`; an empty list for any other text. */
export function parseItem({ recorded }: HistoryItem): { item: RecordedItem; teams: Set<string> }[] {
  const json = parseJson(recorded)
  const kept = json.ok ? keptItemSchema.safeParse(json.value) : null
  if (kept?.success !== true) return []
  const { teams, digest, ...known } = kept.data
  // Kept before the events could have these members.
  const absent = (OPTIONAL[known.kind] ?? []).map((member) => [member, digestOf(null)] as const)
  const item = { ...known, digest: new Map([...absent, ...Object.entries(digest)]) }
  return [{ item, teams: new Set(teams) }]
}

/** No list shows a revoked token again; one that comes back is stored without an event. */
function isEnded(kind: ItemKind, digest: ItemDigest): boolean {
  return kind === 'access_token' && digest.get('revoked_at') !== digestOf(null)
}
