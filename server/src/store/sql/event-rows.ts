import type { EventHead, EventRecord } from '../records.ts'
import type {
  EventPage,
  EventReader,
  EventSize,
  EventText,
  EventWriter,
  HistoryItem,
} from '../contract/history.ts'
import type { Connection, Value } from './connection.ts'
import { createInsertRows, type InsertedColumn } from './insert-rows.ts'
import { createPruneHistory } from './prune-rows.ts'
import type { StoredHead, WriterMemory } from './writer-memory.ts'

interface EventRow extends Omit<EventRecord, 'subject' | 'before' | 'after'> {
  readonly subject: string
  readonly before_state: string | null
  readonly after_state: string | null
}

interface CheckpointRow extends EventHead {
  readonly is_whole: number
}

/**
 * Filters ask an index that holds all they need: an event may have 800 KB. A filter that is null
 * lets everything through; PostgreSQL asks for the type of each null.
 */
const IN_PAGE = `org = ? AND sequence IN (
    SELECT sequence FROM events
    WHERE org = ? AND sequence > ? AND sequence <= ?
      AND (CAST(? AS TEXT) IS NULL OR kind = ?)
      AND (CAST(? AS TEXT) IS NULL OR actor = ?)
      AND (CAST(? AS TEXT) IS NULL OR at >= ?)
      AND (CAST(? AS TEXT) IS NULL OR at < ?)
    ORDER BY sequence LIMIT ?)
  ORDER BY sequence`

/** Databases know the bytes of a text without reading it. */
const MEASURE = `SELECT sequence, CAST(octet_length(subject)
    + coalesce(octet_length(before_state), 0)
    + coalesce(octet_length(after_state), 0) AS INTEGER) AS bytes
  FROM events WHERE ${IN_PAGE}`

const COLUMNS: readonly InsertedColumn[] = [
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

/** Hashes, times and names of an event, and its places in indexes. */
const EVENT_BYTES = 512
/** Columns that may be long. */
const COUNTED = ['subject', 'before_state', 'after_state'].map((name) =>
  COLUMNS.findIndex((column) => column.name === name),
)

type FindHead = (org: string) => Promise<StoredHead | null>

export function createEventReader(
  connection: Connection,
  findHead: FindHead = createFindHead(connection),
): EventReader {
  const list = connection.prepare<EventRow>(`SELECT * FROM events WHERE ${IN_PAGE}`)
  const measure = connection.prepare<EventSize>(MEASURE)
  const hashAt = connection.prepare<Pick<EventRow, 'hash'>>(
    'SELECT hash FROM events WHERE org = ? AND sequence = ?',
  )
  const checkpoint = connection.prepare<CheckpointRow>(
    'SELECT sequence, hash, is_whole FROM history_checkpoints WHERE org = ?',
  )
  const items = connection.prepare<HistoryItem>(
    `SELECT item, recorded FROM history_items WHERE org = ? AND item > ? ORDER BY item LIMIT ?`,
  )
  return {
    async list(org, page) {
      return (await list.all(...boundsOf(org, page))).map(toEvent)
    },
    async listTexts(org, page) {
      return (await list.all(...boundsOf(org, page))).map(toText)
    },
    measure: (org, page) => measure.all(...boundsOf(org, page)),
    async hashAt(org, sequence) {
      return (await hashAt.get(org, sequence))?.hash ?? null
    },
    head: async (org) => toHead(await findHead(org)),
    bytes: async (org) => (await findHead(org))?.bytes ?? 0,
    async checkpoint(org) {
      const row = await checkpoint.get(org)
      return row === undefined ? null : { ...row, is_whole: row.is_whole === 1 }
    },
    async listItems(org, { after, limit }) {
      return items.all(org, after, limit)
    },
  }
}

export function createEventWriter(
  connection: Connection,
  { eventHeads }: Pick<WriterMemory, 'eventHeads'>,
): EventWriter {
  const load = createFindHead(connection)
  const findHead: FindHead = (org) => eventHeads.read(org, () => load(org))
  const insert = createInsertRows(connection, { name: 'events', effect: 'governance' }, COLUMNS)
  const setHead = connection.prepare(
    `INSERT INTO event_heads (org, sequence, hash, bytes)
     VALUES (?, ?, ?, ?)
     ON CONFLICT (org) DO UPDATE
       SET sequence = excluded.sequence, hash = excluded.hash, bytes = excluded.bytes`,
    'governance',
  )
  const prune = createPruneHistory(connection, EVENT_BYTES)
  return {
    ...createEventReader(connection, findHead),
    prune: async (org, pruning) => (await eventHeads.write(org, () => prune(org, pruning))).result,
    async append(org, events) {
      const last = events.at(-1)
      if (last === undefined) throw new RangeError('there is no event to append')
      const { sequence, hash } = last
      const rows = events.map((event) => rowOf(org, event))
      const added = rows.reduce((sum, row) => sum + eventBytes(row), 0)
      const become = (old: StoredHead) => ({ sequence, hash, bytes: old.bytes + added })
      const bytes = ((await findHead(org))?.bytes ?? 0) + added
      const write = async () => {
        await insert.run(rows)
        await setHead.run(org, sequence, hash, bytes)
      }
      await eventHeads.write(org, write, become)
    },
  }
}

function createFindHead(connection: Connection): FindHead {
  const find = connection.prepare<StoredHead>(
    'SELECT sequence, hash, bytes FROM event_heads WHERE org = ?',
  )
  return async (org) => (await find.get(org)) ?? null
}

function toHead(stored: StoredHead | null): EventHead | null {
  return stored === null ? null : { sequence: stored.sequence, hash: stored.hash }
}

/** Must count as `createPruneHistory` counts the bytes that it removes. */
function eventBytes(row: readonly Value[]): number {
  let bytes = EVENT_BYTES
  for (const index of COUNTED) {
    const text = row[index]
    if (typeof text === 'string') bytes += Buffer.byteLength(text)
  }
  return bytes
}

/** The parameters of `IN_PAGE`. */
function boundsOf(org: string, { after, through, limit, ...filter }: EventPage): Value[] {
  const { kind = null, actor = null, since = null, until = null } = filter
  return [org, org, after, through, kind, kind, actor, actor, since, since, until, until, limit]
}

/** In the order of `COLUMNS`. */
function rowOf(org: string, event: EventRecord): Value[] {
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

function toEvent(row: EventRow): EventRecord {
  return {
    ...toBegin(row),
    before: parseState(row.before_state),
    after: parseState(row.after_state),
    ...toEnd(row),
  }
}

/** As `JSON.stringify` of the event: a state is stored as that writes it. */
function toText(row: EventRow): EventText {
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
