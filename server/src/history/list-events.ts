import type { ListEventsQuery, ListEventsResponse } from '@palisade/protocol'
import { authorize } from '../accounts/authorize.ts'
import type { Caller } from '../accounts/principal.ts'
import { gone, invalidArgument } from '../http/api-error.ts'
import { formatPageToken, readPageSize, readPageToken, type PageList } from '../http/page-token.ts'
import { nextTurn } from '../next-turn.ts'
import type { EventPage } from '../store/contract/history.ts'
import type { EventRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import type { AuditedStore } from './audited-store.ts'
import { EMPTY_HISTORY } from './event-hash.ts'

/** A deleted policy is kept with its rules, up to 400 KB; an answer of them stays readable. */
const MAX_PAGE_BYTES = 1024 * 1024
/** How many events one request looks at, by an index; few may pass its filter. */
const WINDOW = 10_000

export interface EventFeedDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly pageTokenKey: Uint8Array
}

/** Events that are read at a time: an update of a policy holds it twice, with up to 400 KB each. */
const SLICE = 8

/**
 * One page of an organization's history, read in slices: each is a snapshot of its own, in which
 * the caller is authorized again. Throws ApiError.
 */
export async function listEvents(
  { store, pageTokenKey }: EventFeedDeps,
  caller: Caller,
  org: string,
  query: ListEventsQuery,
): Promise<ListEventsResponse> {
  const list: PageList = { of: 'events', owner: org, parameter: 'cursor' }
  const read: AuthorizedRead = (work) =>
    store.read(async (reader) => {
      await authorize(reader, caller, org, 'audit:read')
      return work(reader)
    })
  const { after, newest } = await read(async (reader) => ({
    after:
      query.cursor === undefined
        ? ((await reader.events.checkpoint(org))?.sequence ?? 0)
        : await readCursor(reader, org, readPageToken(pageTokenKey, list, query.cursor)),
    newest: (await reader.events.head(org))?.sequence ?? 0,
  }))
  const through = Math.min(after + WINDOW, newest)
  const page = { after, through, limit: readPageSize(query.page_size), ...readFilter(query) }
  const { data, isWhole } = await readWithinBytes(read, org, page)
  const seen = isWhole ? through : (data.at(-1)?.sequence ?? after)
  const { cursor, removed } = await read(async (reader) => ({
    // Events of this page may have been removed since it was begun.
    removed: await requireKept(reader, org, after),
    cursor: await formatCursor(reader, org, seen),
  }))
  return {
    ...(removed === 0 ? {} : { removed_through: removed }),
    data: data.map((event) => ({ ...event })),
    next_cursor: formatPageToken(pageTokenKey, list, cursor),
    has_more: seen < newest,
  }
}

type AuthorizedRead = <T>(work: (reader: StoreReader) => Promise<T>) => Promise<T>

/** A place in one history: a restore makes another, which has other events under the same numbers. */
async function formatCursor(reader: StoreReader, org: string, sequence: number): Promise<string> {
  return `${sequence}:${await hashAt(reader, org, sequence)}`
}

/** The sequence to go on after; throws 400 when this history has not come by there. */
async function readCursor(reader: StoreReader, org: string, text: string): Promise<number> {
  const sequence = Number.parseInt(text, 10)
  await requireKept(reader, org, sequence)
  if (text === (await formatCursor(reader, org, sequence))) return sequence
  throw invalidArgument(
    '`cursor` is after an event that is not in this history, as when a backup was restored; start without `cursor`',
    { field: 'cursor' },
  )
}

/** The last removed event, 0 for none; throws 410 when some after `sequence` are removed. */
async function requireKept(reader: StoreReader, org: string, sequence: number): Promise<number> {
  const removed = (await reader.events.checkpoint(org))?.sequence ?? 0
  if (sequence >= removed) return removed
  throw gone(
    `events up to ${removed} were removed by the retention of the history; start without \`cursor\``,
    { field: 'cursor', reason: 'history_removed' },
  )
}

/** Empty when there is no such event. */
async function hashAt(reader: StoreReader, org: string, sequence: number): Promise<string> {
  if (sequence === EMPTY_HISTORY.sequence) return EMPTY_HISTORY.hash
  const checkpoint = await reader.events.checkpoint(org)
  if (checkpoint?.sequence === sequence) return checkpoint.hash
  const page = { after: sequence - 1, through: sequence, limit: 1 }
  return (await reader.events.list(org, page))[0]?.hash ?? ''
}

function readFilter({ kind, actor, since, until }: ListEventsQuery) {
  return {
    kind: kind ?? null,
    actor: actor ?? null,
    since: since === undefined ? null : new Date(since).toISOString(),
    until: until === undefined ? null : new Date(until).toISOString(),
  }
}

/**
 * The first events of a page that fit, and the very first in any case; whether these are all of
 * them. Others get their turn between the slices.
 */
async function readWithinBytes(
  read: AuthorizedRead,
  org: string,
  page: EventPage,
): Promise<{ data: EventRecord[]; isWhole: boolean }> {
  const data: EventRecord[] = []
  let { after } = page
  let bytes = 0
  while (data.length < page.limit) {
    const limit = Math.min(SLICE, page.limit - data.length)
    const rest = { ...page, after, limit }
    const slice = await read((reader) => reader.events.list(org, rest))
    for (const event of slice) {
      bytes += Buffer.byteLength(JSON.stringify(event))
      if (bytes > MAX_PAGE_BYTES && data.length > 0) return { data, isWhole: false }
      data.push(event)
      after = event.sequence
    }
    if (slice.length < limit) return { data, isWhole: true }
    await nextTurn()
  }
  return { data, isWhole: false }
}
