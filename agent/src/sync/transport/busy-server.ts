import type { FetchAnswer } from '@palisade/client'
import { fault, type Fault } from '../fault.ts'

/**
 * Three polls. Whoever can send a header could keep a machine away with it: it is no longer silent
 * for that than a server would have a reason to ask.
 */
export const MAX_RETRY_AFTER_MS = 15 * 60_000

/** What a server says that has too much to do, with how long it wants to be left alone; else null. */
export function judgeBusy({
  status,
  headers,
}: Pick<FetchAnswer, 'status' | 'headers'>): Fault | null {
  if (status !== 429 && status !== 503) return null
  const busy = fault('busy', `the server is busy (${status})`)
  const retryAfterMs = parseRetryAfter(headers)
  return retryAfterMs === null ? busy : { ...busy, retryAfterMs }
}

/** RFC 9110 §10.2.3; a date is taken relative to the server's own clock. */
function parseRetryAfter(headers: FetchAnswer['headers']): number | null {
  const text = headers.get('retry-after')?.trim() ?? ''
  const waitMs = /^\d+$/.test(text)
    ? Number(text) * 1000
    : Date.parse(text) - Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(waitMs) || waitMs <= 0) return null
  return Math.min(waitMs, MAX_RETRY_AFTER_MS)
}
