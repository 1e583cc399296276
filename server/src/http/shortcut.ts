import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { RouteTally } from '../operations/metrics/request-metrics.ts'
import type { ApiError } from '../platform/api-error.ts'
import { formatError } from './errors/format-error.ts'
import { ABOUT_BODIES, type SecurityHeaders } from './security-headers.ts'

/** An answer that is available synchronously. */
export interface ReadyAnswer {
  readonly kind: 'answer'
  readonly tally: RouteTally
  readonly etag: string
  readonly cacheControl: string
  /** JSON; null for 304. */
  readonly body: string | null
}

/** A refusal with `Retry-After` under overload; it must cost no more than the answer. */
export interface ReadyRefusal {
  readonly kind: 'refusal'
  readonly tally: RouteTally
  readonly error: ApiError
}

/**
 * Returns an answer, or null to fall through to Fastify, which produces every refusal except
 * overload. Must not throw.
 */
export type Shortcut = (request: IncomingMessage) => ReadyAnswer | ReadyRefusal | null

export interface ShortcutDeps {
  readonly shortcut: Shortcut
  readonly newRequestId: (request: IncomingMessage) => string
  readonly constant: SecurityHeaders
  /** False when the request needs the hooks of Fastify, such as for debug logs. */
  readonly isOpen: (request: IncomingMessage) => boolean
}

/**
 * Puts `shortcut` in front of Fastify. Nearly all requests are polls, and Fastify with its hooks is
 * a large part of their cost. A test compares both answers byte by byte.
 *
 * bench: server/poll
 */
export function withShortcut(framework: RequestListener, deps: ShortcutDeps): RequestListener {
  const headers = splitHeaders(deps.constant)
  return (request, response) => {
    const startedMs = performance.now()
    const answer =
      isPlain(request, response) && deps.isOpen(request) ? deps.shortcut(request) : null
    if (answer === null) {
      framework(request, response)
      return
    }
    const requestId = deps.newRequestId(request)
    const status =
      answer.kind === 'answer'
        ? send(response, answer, requestId, headers)
        : refuse(response, answer.error, requestId, deps.constant)
    answer.tally.count(status, (performance.now() - startedMs) / 1000)
  }
}

/** Alternating names and values, which `writeHead` accepts without looking up each name. */
interface ConstantHeaders {
  readonly withBody: readonly string[]
  readonly bodiless: readonly string[]
}

/** Omits `Cache-Control`, which each answer sets. */
function splitHeaders(constant: SecurityHeaders): ConstantHeaders {
  const always = Object.entries(constant).filter(([name]) => name !== 'cache-control')
  const about: readonly string[] = ABOUT_BODIES
  return {
    withBody: always.flat(),
    bodiless: always.filter(([name]) => !about.includes(name)).flat(),
  }
}

/** Tells whether a request is a GET without body, with one `Host`, and first on its connection. */
function isPlain(
  { method, headers, rawHeaders }: IncomingMessage,
  { socket }: ServerResponse,
): boolean {
  if (method !== 'GET' || socket === null) return false
  if ('content-length' in headers || 'transfer-encoding' in headers) return false
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 'host'.length && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts === 1
}

function send(
  response: ServerResponse,
  { etag, cacheControl, body }: ReadyAnswer,
  requestId: string,
  { withBody, bodiless }: ConstantHeaders,
): 200 | 304 {
  const own = ['x-request-id', requestId, 'etag', etag, 'cache-control', cacheControl]
  if (body === null) {
    response.writeHead(304, [...bodiless, ...own])
    response.end()
    return 304
  }
  const about = [
    'content-type',
    'application/json',
    'content-length',
    String(Buffer.byteLength(body)),
  ]
  response.writeHead(200, [...withBody, ...own, ...about])
  response.end(body)
  return 200
}

function refuse(
  response: ServerResponse,
  error: ApiError,
  requestId: string,
  constant: SecurityHeaders,
): number {
  const body = JSON.stringify(formatError(error, requestId))
  response.writeHead(error.status, {
    ...constant,
    'x-request-id': requestId,
    ...error.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
  return error.status
}
