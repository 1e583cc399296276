import { defineAggregate, type WriterContext } from '../aggregate.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import { describeCheckpoint } from './describe-checkpoint.ts'
import type {
  EventPage,
  EventReader,
  EventSize,
  EventWriter,
  HistoryItem,
} from './event-contract.ts'
import {
  COLUMNS,
  EVENT_BYTES,
  eventBytes,
  rowOf,
  toEvent,
  toText,
  type EventRow,
} from './event-row.ts'
import { createPruneHistory } from './prune-rows.ts'
import type { EventHead } from '../../records.ts'
import type { Connection, Value } from '../../sql/connection.ts'
import { createInsertRows } from '../../sql/insert-rows.ts'
import type { StoredHead } from '../../sql/write-cache.ts'

export const EVENTS = defineAggregate({
  tables: [
    { name: 'events', key: ['org', 'sequence'] },
    { name: 'event_heads', key: ['org'] },
    { name: 'history_checkpoints', key: ['org'] },
    { name: 'history_items', key: ['org', 'item'] },
  ],
  reader: createEventReader,
  writer: createEventWriter,
  events: auditEvents,
})

/**
 * The event of a removal holds the checkpoint and a digest of the state kept with it. An attacker
 * who moves the checkpoint or edits that state must recompute all later hashes.
 */
function auditEvents(
  events: EventWriter,
  { record }: ChangeRecorder,
): Writes<EventWriter, EventReader> {
  return {
    append: () => Promise.reject(new TypeError('only the audited store writes events')),
    async prune(org, pruning) {
      const before = await events.checkpoint(org)
      const skipped = await events.prune(org, pruning)
      const after = await describeCheckpoint(events, org)
      const { last_removed_at } = pruning
      await record({
        scope: { org },
        kind: 'history.pruned',
        subject: { id: org, name: org },
        before: before === null ? null : { removed_through: before.sequence },
        after: { ...after, last_removed_at, ...(skipped.length === 0 ? {} : { skipped }) },
      })
      return skipped
    },
  }
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

type FindHead = (org: string) => Promise<StoredHead | null>

function createEventReader(
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
  { cache: { eventHeads } }: Pick<WriterContext, 'cache'>,
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

/** The parameters of `IN_PAGE`. */
function boundsOf(org: string, { after, through, limit, ...filter }: EventPage): Value[] {
  const { kind = null, actor = null, since = null, until = null } = filter
  return [org, org, after, through, kind, kind, actor, actor, since, since, until, until, limit]
}
