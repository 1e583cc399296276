import {
  formatAuditCsv,
  formatAuditCsvHead,
  type AuditDownloadQuery,
  type AuditEvent,
  type AuditFormat,
  type AuditPage,
  type AuditQuery,
} from '@palisade/protocol'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { ApiError } from '../../platform/api-error.ts'
import { nextTurn } from '../../platform/next-turn.ts'

/** Media types by format. */
export const DOWNLOAD_TYPES: Readonly<Record<AuditFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/x-ndjson',
}

/** A page that is refused, because many others are asked for, is asked for again. */
const AGAIN_MS = 1_000
const MOST_ATTEMPTS = 60
/** Reading and writing one takes some milliseconds, in which no other request is served. */
const DOWNLOAD_PAGE = 200

/**
 * A stream of all events that the query matches, newest first. A page is read when the reader has
 * taken the one before: a slow reader costs the memory of two, and one that leaves ends the work.
 * The stream is destroyed by an error of `list`, which cuts the answer off without its end.
 */
export function downloadAuditLog(
  { format = 'jsonl', ...query }: AuditDownloadQuery,
  first: AuditPage,
  list: (query: AuditQuery) => Promise<AuditPage>,
  againMs = AGAIN_MS,
): Readable {
  async function* read(): AsyncGenerator<string> {
    if (format === 'csv') yield formatAuditCsvHead()
    for (let page = first; ;) {
      const text = page.events.map(FORMATS[format]).join('')
      // An empty text would be the end of the stream.
      if (text !== '') yield text
      if (page.next_page_token === '') return
      const next = pageQuery(query, page.next_page_token)
      page = await untilAdmitted(() => list(next), againMs)
      // A quick reader takes a page at once, and others come to their turn in between.
      await nextTurn()
    }
  }
  return Readable.from(read(), { objectMode: true, highWaterMark: 1 })
}

/** The answer has begun, so it can say 429 no more. */
async function untilAdmitted<T>(read: () => Promise<T>, againMs: number): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read()
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status === 429
      if (!isRefused || attempt === MOST_ATTEMPTS) throw error
      await wait(againMs)
    }
  }
}

/** The first page when `token` is absent. */
export function pageQuery(
  query: Omit<AuditQuery, 'page_size' | 'page_token'>,
  token?: string,
): AuditQuery {
  const page_size = String(DOWNLOAD_PAGE)
  return token === undefined ? { ...query, page_size } : { ...query, page_size, page_token: token }
}

const FORMATS: Readonly<Record<AuditFormat, (event: AuditEvent) => string>> = {
  csv: formatAuditCsv,
  jsonl: (event) => `${JSON.stringify(event)}\n`,
}
