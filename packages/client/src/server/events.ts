import {
  listEventsResponseSchema,
  type EventKind,
  type HistoryEvent,
  type ListEventsResponse,
} from '@palisade/protocol'
import { unexpected } from '../client-error.ts'
import type { Call } from './call.ts'

export interface EventFilter {
  readonly kind?: EventKind | undefined
  /** `user:NAME`, `organization:NAME:TOKEN_ID` or `operator`. */
  readonly actor?: string | undefined
  /** RFC 3339, inclusive. */
  readonly since?: string | undefined
  /** RFC 3339, exclusive. */
  readonly until?: string | undefined
}

/** The history of one organization. Every method throws `ClientError`. */
export interface EventsClient {
  /**
   * Every event that passes the filter, oldest first, fetched page by page as they are read.
   */
  list(filter?: EventFilter): AsyncIterable<HistoryEvent>
  /** One page. Its `next_cursor` continues after it at any later time. */
  page(cursor: string | null, filter?: EventFilter): Promise<ListEventsResponse>
}

export function createEventsClient(call: Call, root: string): EventsClient {
  async function page(cursor: string | null, filter: EventFilter = {}) {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries({ ...filter, cursor: cursor ?? undefined }))
      if (value !== undefined) query.set(name, value)
    const path = query.size === 0 ? root : `${root}?${query.toString()}`
    return call({ method: 'GET', path }, listEventsResponseSchema)
  }

  return {
    page,
    async *list(filter) {
      let cursor: string | null = null
      for (;;) {
        const found: ListEventsResponse = await page(cursor, filter)
        yield* found.data
        if (!found.has_more) return
        // A server that repeats a cursor would cause an endless loop.
        if (found.next_cursor === cursor) throw unexpected('a cursor came twice')
        cursor = found.next_cursor
      }
    },
  }
}
