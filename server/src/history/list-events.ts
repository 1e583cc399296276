import type { ListEventsQuery, ListEventsResponse } from '@palisade/protocol'
import { authorize } from '../accounts/authorize.ts'
import type { Caller } from '../accounts/principal.ts'
import { formatPageToken, readPageSize, readPageToken, type PageList } from '../http/page-token.ts'
import type { EventRecord } from '../store/records.ts'
import type { AuditedStore } from './audited-store.ts'

/** A deleted policy is kept with its rules, up to 400 KB; an answer of them stays readable. */
const MAX_PAGE_BYTES = 1024 * 1024
/**
 * How many events one request looks at: a filter that few events pass would read the whole history
 * while others wait. There is no index for the filters, which every write would have to pay for.
 */
const WINDOW = 10_000

export interface EventFeedDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly pageTokenKey: Uint8Array
}

/** One page of an organization's history. Throws ApiError. */
export async function listEvents(
  { store, pageTokenKey }: EventFeedDeps,
  caller: Caller,
  org: string,
  query: ListEventsQuery,
): Promise<ListEventsResponse> {
  return store.read(async (reader) => {
    await authorize(reader, caller, org, 'audit:read')
    const list: PageList = { of: 'events', org, parameter: 'cursor' }
    const after =
      query.cursor === undefined ? 0 : Number(readPageToken(pageTokenKey, list, query.cursor))
    const limit = readPageSize(query.page_size)
    const head = await reader.events.head(org)
    const newest = head?.sequence ?? 0
    const through = Math.min(after + WINDOW, newest)
    const found = await reader.events.list(org, { after, through, limit, ...readFilter(query) })

    const data = withinBytes(found)
    const isWhole = data.length === found.length && found.length < limit
    // A cursor may be ahead of a store that was restored from a backup; it stays where it is.
    const seen = isWhole ? Math.max(after, through) : (data.at(-1)?.sequence ?? after)
    return {
      data: data.map((event) => ({ ...event })),
      next_cursor: formatPageToken(pageTokenKey, list, String(seen)),
      has_more: seen < newest,
    }
  })
}

function readFilter({ kind, actor, since, until }: ListEventsQuery) {
  return {
    kind: kind ?? null,
    actor: actor ?? null,
    since: since === undefined ? null : new Date(since).toISOString(),
    until: until === undefined ? null : new Date(until).toISOString(),
  }
}

/** The first events that fit, and the very first in any case. */
function withinBytes(events: readonly EventRecord[]): readonly EventRecord[] {
  let bytes = 0
  const over = events.findIndex((event, index) => {
    bytes += Buffer.byteLength(JSON.stringify(event))
    return index > 0 && bytes > MAX_PAGE_BYTES
  })
  return over === -1 ? events : events.slice(0, over)
}
