import type { EventHead, EventRecord } from '../records.ts'
import type { EventReader, EventWriter, HistoryItem } from '../contract/history.ts'
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
const LIST = `SELECT * FROM events
  WHERE org = ? AND sequence IN (
    SELECT sequence FROM events
    WHERE org = ? AND sequence > ? AND sequence <= ?
      AND (CAST(? AS TEXT) IS NULL OR kind = ?)
      AND (CAST(? AS TEXT) IS NULL OR actor = ?)
      AND (CAST(? AS TEXT) IS NULL OR at >= ?)
      AND (CAST(? AS TEXT) IS NULL OR at < ?)
    ORDER BY sequence LIMIT ?)
  ORDER BY sequence`

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
/** What may be long. */
const COUNTED = ['subject', 'before_state', 'after_state'].map((name) =>
  COLUMNS.findIndex((column) => column.name === name),
)

type FindHead = (org: string) => Promise<StoredHead | null>

export function createEventReader(
  connection: Connection,
  findHead: FindHead = createFindHead(connection),
): EventReader {
  const list = connection.prepare<EventRow>(LIST)
  const checkpoint = connection.prepare<CheckpointRow>(
    'SELECT sequence, hash, is_whole FROM history_checkpoints WHERE org = ?',
  )
  const items = connection.prepare<HistoryItem>(
    `SELECT item, recorded FROM history_items WHERE org = ? AND item > ? ORDER BY item LIMIT ?`,
  )
  return {
    async list(org, { after, through, limit, ...filter }) {
      const { kind = null, actor = null, since = null, until = null } = filter
      const filters = [kind, kind, actor, actor, since, since, until, until]
      return (await list.all(org, org, after, through, ...filters, limit)).map(toEvent)
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
      const isNext = ({ sequence: newest }: EventHead) => newest === sequence - 1
      const [only] = rows
      const next =
        only === undefined || rows.length > 1
          ? null
          : eventHeads.change(org, (old) => (isNext(old) ? become(old) : null))
      if (only !== undefined && next !== null) {
        const row = insert.later(only)
        const head = setHead.latest(org, org, sequence, hash, next.bytes)
        await row
        await head
        return
      }
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

/** As `createPruneHistory` counts what it removes. */
function eventBytes(row: readonly Value[]): number {
  let bytes = EVENT_BYTES
  for (const index of COUNTED) {
    const text = row[index]
    if (typeof text === 'string') bytes += Buffer.byteLength(text)
  }
  return bytes
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

function toEvent({ before_state, after_state, subject, ...row }: EventRow): EventRecord {
  return {
    org: row.org,
    sequence: row.sequence,
    at: row.at,
    kind: row.kind,
    actor: row.actor,
    address: row.address,
    request_id: row.request_id,
    subject: parseSubject(subject),
    before: parseState(before_state),
    after: parseState(after_state),
    revision: row.revision,
    previous_hash: row.previous_hash,
    hash: row.hash,
  }
}

/**
 * Text that somebody damaged is still an event: one whose hash is wrong, to be named by those who
 * check, not an error of whoever reads the page it is on.
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

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Falls through: what is not JSON is not an object either.
  }
  return { unreadable: text }
}
