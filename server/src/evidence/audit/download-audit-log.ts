import {
  formatAuditCsv,
  formatAuditCsvHead,
  MAX_AUDIT_PAGE,
  type AuditDownloadQuery,
  type AuditEvent,
  type AuditFormat,
  type AuditPage,
  type AuditQuery,
} from '@palisade/protocol'
import { Readable } from 'node:stream'

/** Media types by format. */
export const DOWNLOAD_TYPES: Readonly<Record<AuditFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/x-ndjson',
}

/**
 * A stream of all events that the query matches, newest first. A page is read when the reader has
 * taken the one before: a slow reader costs the memory of two, and one that leaves ends the work.
 * The stream is destroyed by an error of `list`, which cuts the answer off without its end.
 */
export function downloadAuditLog(
  { format = 'jsonl', ...query }: AuditDownloadQuery,
  first: AuditPage,
  list: (query: AuditQuery) => Promise<AuditPage>,
): Readable {
  async function* read(): AsyncGenerator<string> {
    if (format === 'csv') yield formatAuditCsvHead()
    for (let page = first; ;) {
      const text = page.events.map(FORMATS[format]).join('')
      // An empty text would be the end of the stream.
      if (text !== '') yield text
      if (page.next_page_token === '') return
      page = await list(pageQuery(query, page.next_page_token))
    }
  }
  return Readable.from(read(), { objectMode: true, highWaterMark: 1 })
}

/** The first page when `token` is absent. */
export function pageQuery(
  query: Omit<AuditQuery, 'page_size' | 'page_token'>,
  token?: string,
): AuditQuery {
  const page_size = String(MAX_AUDIT_PAGE)
  return token === undefined ? { ...query, page_size } : { ...query, page_size, page_token: token }
}

const FORMATS: Readonly<Record<AuditFormat, (event: AuditEvent) => string>> = {
  csv: formatAuditCsv,
  jsonl: (event) => `${JSON.stringify(event)}\n`,
}
