import type { EventText } from './event-contract.ts'
import type { EventRecord } from '../../records.ts'
import type { Value } from '../../sql/connection.ts'
import type { InsertedColumn } from '../../sql/insert-rows.ts'

/** An event as it is stored. */
export interface EventRow extends Omit<EventRecord, 'subject' | 'before' | 'after'> {
  readonly subject: string
  readonly before_state: string | null
  readonly after_state: string | null
}

export const COLUMNS: readonly InsertedColumn[] = [
  { name: 'org', type: 'TEXT' },
  { name: 'sequence', type: 'BIGINT' },
  { name: 'at', type: 'TEXT' },
  { name: 'kind', type: 'TEXT' },
  { name: 'actor', type: 'TEXT' },
  { name: 'address', type: 'TEXT' },
  { name: 'request_id', type: 'TEXT' },
  { name: 'subject', type: 'TEXT' },
  { name: 'before_state', type: 'TEXT' },
  { name: 'after_state', type: 'TEXT' },
  { name: 'revision', type: 'BIGINT' },
  { name: 'previous_hash', type: 'TEXT' },
  { name: 'hash', type: 'TEXT' },
]

/** Hashes, times and names of an event, and its keys in indexes. */
export const EVENT_BYTES = 512
/** Columns that may be long. */
const COUNTED = ['subject', 'before_state', 'after_state'].map((name) =>
  COLUMNS.findIndex((column) => column.name === name),
)

/** Must count as `createPruneHistory` counts the bytes that it removes. */
export function eventBytes(row: readonly Value[]): number {
  let bytes = EVENT_BYTES
  for (const index of COUNTED) {
    const text = row[index]
    if (typeof text === 'string') bytes += Buffer.byteLength(text)
  }
  return bytes
}

/** In the order of `COLUMNS`. */
export function rowOf(org: string, event: EventRecord): Value[] {
  return [
    org,
    event.sequence,
    event.at,
    event.kind,
    event.actor,
    event.address,
    event.request_id,
    JSON.stringify(event.subject),
    formatState(event.before),
    formatState(event.after),
    event.revision,
    event.previous_hash,
    event.hash,
  ]
}

function formatState(state: EventRecord['before']): string | null {
  return state === null ? null : JSON.stringify(state)
}

export function toEvent(row: EventRow): EventRecord {
  return {
    ...toBegin(row),
    before: parseState(row.before_state),
    after: parseState(row.after_state),
    ...toEnd(row),
  }
}

/** Formats the event as `JSON.stringify` would: a state is stored as that writes it. */
export function toText(row: EventRow): EventText {
  const head = JSON.stringify(toBegin(row)).slice(0, -1)
  const end = JSON.stringify(toEnd(row)).slice(1)
  const before = checkState(row.before_state)
  const after = checkState(row.after_state)
  const text = `${head},"before":${before},"after":${after},${end}`
  return { sequence: row.sequence, hash: row.hash, text }
}

function toBegin(row: EventRow): Omit<EventRecord, 'before' | 'after' | keyof EventEnd> {
  return {
    org: row.org,
    sequence: row.sequence,
    at: row.at,
    kind: row.kind,
    actor: row.actor,
    address: row.address,
    request_id: row.request_id,
    subject: parseSubject(row.subject),
  }
}

type EventEnd = Pick<EventRecord, 'revision' | 'previous_hash' | 'hash'>

function toEnd({ revision, previous_hash, hash }: EventRow): EventEnd {
  return { revision, previous_hash, hash }
}

/**
 * Damaged text is still an event, with a wrong hash. The check of the history names it; a reader of
 * the page must not fail by it.
 */
function parseSubject(text: string): EventRecord['subject'] {
  const { id, name, policy_id } = parseObject(text)
  return {
    id: String(id),
    name: typeof name === 'string' ? name : null,
    ...(typeof policy_id === 'string' ? { policy_id } : {}),
  }
}

function parseState(text: string | null): EventRecord['before'] {
  return text === null ? null : parseObject(text)
}

/** The stored state as JSON, if it is an object. */
function checkState(text: string | null): string {
  if (text === null) return 'null'
  return readObject(text) === null ? JSON.stringify({ unreadable: text }) : text
}

function parseObject(text: string): Record<string, unknown> {
  return readObject(text) ?? { unreadable: text }
}

/** Null for a text that is not a JSON object. */
function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
