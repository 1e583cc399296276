import {
  auditPageSchema,
  type AuditEvent,
  type AuditPage,
  type AuditQuery,
} from '@palisade/protocol'
import { unexpected } from '../client-error.ts'
import { apiPath, formatQuery } from './server-url.ts'
import type { Call } from './call.ts'

export type AuditFilter = Omit<AuditQuery, 'page_size' | 'page_token'>

/** The decisions on the machines of one organization. Every method throws `ClientError`. */
export interface AuditClient {
  /** Newest first, fetched page by page as they are read. */
  list(filter?: AuditFilter, pageSize?: number): AsyncIterable<AuditEvent>
}

export function createAuditClient(call: Call, org: string): AuditClient {
  const root = `/v2/auditlogs/governance${apiPath(org)}`
  return {
    async *list(filter = {}, pageSize = 0) {
      let token: string | undefined
      for (;;) {
        const query = { ...filter, page_size: String(pageSize), page_token: token }
        const path = root + formatQuery(query)
        const page: AuditPage = await call({ method: 'GET', path }, auditPageSchema)
        yield* page.events
        if (page.next_page_token === '') return
        // A server that repeats a token would cause an endless loop.
        if (page.next_page_token === token) throw unexpected('a page token came twice')
        token = page.next_page_token
      }
    },
  }
}
