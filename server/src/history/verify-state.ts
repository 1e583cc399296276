import {
  DEFAULT_ACCESS_SETTINGS,
  DEFAULT_DISTRIBUTION_SETTINGS,
  DEFAULT_EVIDENCE_SETTINGS,
} from '@palisade/protocol'
import type { StoreReader } from '../store/store.ts'
import { digestItem, type ItemDigest, type ItemKind, type RecordedItem } from './recorded-item.ts'
import type { RecordedState } from './recorded-state.ts'
import { readStoredItems, type StoredItem } from './stored-items.ts'

/** A stored item that is not as the last event of it says. */
export interface StateDifference {
  readonly org: string
  readonly kind: ItemKind
  readonly id: string
  readonly name: string | null
  /**
   * - `changed`: `members` are not as the event recorded them.
   * - `unrecorded`: it is stored, and no event made it.
   * - `deleted`: it is stored, and the event deleted it.
   * - `missing`: the event recorded it, and it is not stored.
   */
  readonly difference: 'changed' | 'unrecorded' | 'deleted' | 'missing'
  readonly members: readonly string[]
  /** The last event of the item; null for `unrecorded`. */
  readonly sequence: number | null
}

/** Items that may be missing: an account, a credential or a grant that is gone gives no access. */
const MAY_BE_GONE: ReadonlySet<ItemKind> = new Set<ItemKind>([
  'account',
  'access_token',
  'enrolment_token',
  'device',
  'access_request',
  'approver',
  'break_glass',
])

/**
 * Compares the stored state of an organization with the last event of each item: a write past the
 * server leaves no event. `recorded` holds the whole history that `reader` sees.
 */
export async function verifyState(
  reader: StoreReader,
  org: string,
  recorded: RecordedState,
): Promise<StateDifference[]> {
  const differences: StateDifference[] = []
  const seen = new Set<string>()
  for await (const item of readStoredItems(reader, org)) {
    seen.add(`${item.kind} ${item.id}`)
    const found = compareItem(item, recorded)
    if (found !== null) differences.push({ org, kind: item.kind, ...nameOf(item), ...found })
  }
  for (const item of recorded.items()) {
    if (item.digest === null || MAY_BE_GONE.has(item.kind)) continue
    if (seen.has(`${item.kind} ${item.id}`)) continue
    const { kind, sequence } = item
    differences.push({
      org,
      kind,
      ...nameOf(item),
      difference: 'missing',
      members: [],
      sequence,
    })
  }
  return differences
}

/** `rule \`web\`: \`resources\` are not as event 7 recorded`. */
export function describeDifference(found: StateDifference): string {
  const { org, kind, name, id, members, sequence } = found
  const item = `\`${org}\`: ${kind.replace('_', ' ')} \`${name ?? id}\``
  const quoted = members.map((member) => `\`${member}\``)
  switch (found.difference) {
    case 'changed':
      return `${item}: ${quoted.join(', ')} not as in event ${sequence}`
    case 'unrecorded':
      return `${item}: stored, but no event created it`
    case 'deleted':
      return `${item}: stored, but event ${sequence} deleted it`
    case 'missing':
      return `${item}: not stored, but event ${sequence} recorded it`
  }
}

const DEFAULTS = {
  access: DEFAULT_ACCESS_SETTINGS,
  distribution: DEFAULT_DISTRIBUTION_SETTINGS,
  evidence: DEFAULT_EVIDENCE_SETTINGS,
} as const

type Found = Pick<StateDifference, 'difference' | 'members' | 'sequence'>

function compareItem(item: StoredItem, recorded: RecordedState): Found | null {
  const stored = digestItem(item.kind, item.state)
  const known = recorded.find(item.kind, item.id)
  if (known === undefined) return compareUnrecorded(item, stored, recorded)
  const { digest, sequence } = known
  if (digest === null) return { difference: 'deleted', members: [], sequence }
  const members = changedMembers(digest, stored)
  return members.length === 0 ? null : { difference: 'changed', members, sequence }
}

/**
 * A history without all events of the kind cannot tell; settings without an event are the default
 * ones.
 */
function compareUnrecorded(
  { kind }: StoredItem,
  stored: ItemDigest,
  recorded: RecordedState,
): Found | null {
  if (!recorded.hasAll(kind)) return null
  if (kind === 'access' || kind === 'distribution' || kind === 'evidence') {
    const members = changedMembers(digestItem(kind, DEFAULTS[kind]), stored)
    if (members.length === 0) return null
  }
  return { difference: 'unrecorded', members: [], sequence: null }
}

function changedMembers(recorded: ItemDigest, stored: ItemDigest): string[] {
  return [...recorded].flatMap(([member, digest]) => (stored.get(member) === digest ? [] : member))
}

function nameOf({ id, name }: StoredItem | RecordedItem) {
  return { id, name }
}
