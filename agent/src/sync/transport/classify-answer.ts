import { readBoundedBody, type FetchAnswer } from '@palisade/client'
import { errorEnvelopeSchema, parseJson } from '@palisade/protocol'
import { fault, type Fault } from '../fault.ts'

/**
 * Three polls. Bounds how long a forged header can keep a machine away; a server has no reason to
 * ask for more.
 */
export const MAX_RETRY_AFTER_MS = 15 * 60_000
export const JSON_MEDIA_TYPE = 'application/json'
/** RFC 6585 §6; only portals send it. */
const NETWORK_AUTHENTICATION_REQUIRED = 511
const UNAUTHORIZED = 401
const NOT_FOUND = 404
/** Limit for the server's own refusal, which is a sentence in an envelope. */
const MAX_REFUSAL_BYTES = 4 * 1024
const LESS_THAN = '<'.codePointAt(0)
const WHITE_SPACE: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n'))

/** In lower case, without parameters; empty if the answer has no media type. */
export function mediaTypeOf({ headers }: Pick<FetchAnswer, 'headers'>): string {
  return (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

/**
 * Whether something on the path has answered in place of the server: a captive portal, a gateway,
 * or a proxy that wants a password. A 401 comes from the server only with the error envelope of the
 * protocol. Any other 401 is not about the machine; otherwise a gateway would revoke all machines
 * behind it. Reads the body of a 401.
 */
export async function isForeign({ status, body }: FetchAnswer): Promise<boolean> {
  if (status === NETWORK_AUTHENTICATION_REQUIRED) return true
  return status === 401 && !isRefusal(await readBoundedBody(body, MAX_REFUSAL_BYTES))
}

/** A refusal in the words of the server; null for a refused token, 404 and other answers. */
export async function readRefusal(response: FetchAnswer): Promise<Fault | null> {
  const { status } = response
  const isOwn = status >= 400 && status < 500 && status !== UNAUTHORIZED && status !== NOT_FOUND
  if (!isOwn || mediaTypeOf(response) !== JSON_MEDIA_TYPE) return null
  const body = await readBoundedBody(response.body, MAX_REFUSAL_BYTES)
  const json = body === null ? null : parseJson(Buffer.from(body).toString())
  const error =
    json?.ok === true ? errorEnvelopeSchema.safeParse(json.value).data?.error : undefined
  if (error === undefined) return fault('http_status', `the server answered ${status}`)
  return { ...fault('http_status', error.message), status, refusal: error.code }
}

function isRefusal(body: Uint8Array | null): boolean {
  const json = body === null ? null : parseJson(Buffer.from(body).toString())
  if (json?.ok !== true) return false
  return errorEnvelopeSchema.safeParse(json.value).data?.error.code === 'unauthenticated'
}

/** Whether a body begins with markup, which JSON never does. */
export function isMarkup(body: Uint8Array): boolean {
  return body.find((byte) => !WHITE_SPACE.has(byte)) === LESS_THAN
}

/** The fault for the answer of a busy server, with its `Retry-After`; null for other answers. */
export function findBusyFault({
  status,
  headers,
}: Pick<FetchAnswer, 'status' | 'headers'>): Fault | null {
  if (status !== 429 && status !== 503) return null
  const busy = fault('busy', `the server is busy (${status})`)
  const retryAfterMs = parseRetryAfter(headers)
  return retryAfterMs === null ? busy : { ...busy, retryAfterMs }
}

/** RFC 9110 §10.2.3; a date is relative to the server's own clock. */
function parseRetryAfter(headers: FetchAnswer['headers']): number | null {
  const text = headers.get('retry-after')?.trim() ?? ''
  const waitMs = /^\d+$/.test(text)
    ? Number(text) * 1000
    : Date.parse(text) - Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(waitMs) || waitMs <= 0) return null
  return Math.min(waitMs, MAX_RETRY_AFTER_MS)
}
