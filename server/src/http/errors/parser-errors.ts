import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ApiError } from '../../platform/api-error.ts'
import { formatError } from './format-error.ts'
import type { RequestObserver } from '../observe-requests.ts'
import type { SecurityHeaders } from '../security-headers.ts'

/** How long a client that was refused may keep its side of the connection open. */
const LINGER_MS = 1_000

/**
 * The first bytes of a TLS handshake: its record type, and the version that all of TLS has there.
 */
const TLS_HANDSHAKE = [0x16, 0x03]
const TLS_ADVICE =
  'a client spoke TLS to this port, which speaks plain HTTP: give clients an `http://` address, or set PALISADE_TLS_CERT and PALISADE_TLS_KEY'

/** Answers, in the envelope, what node's HTTP parser refused before there was a request. */
export function createClientErrorHandler(
  newRequestId: () => string,
  observer: RequestObserver,
  constant: SecurityHeaders,
): (error: NodeJS.ErrnoException, socket: Duplex) => void {
  /** Once: every poll of a machine with a wrong address would bring the line again. */
  let isTlsReported = false
  return (error, socket) => {
    // A peer that is gone, or that is in the middle of an answer, cannot be told anything.
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const id = newRequestId()
    const isTls = isTlsHandshake(error) && !('encrypted' in socket)
    const refusal = isTls ? refusalOfTls() : refusalOfParser(error.code)
    if (isTls && !isTlsReported) {
      isTlsReported = true
      observer.log.warn({ request_id: id }, TLS_ADVICE)
    }
    endWith(socket, formatResponse(refusal, headersOf(refusal, id, constant), id))
    report(observer, refusal, id, socket)
  }
}

/** Takes the two kinds of request that node would answer, or drop, without the envelope. */
export function refuseUnsupported(
  server: Server,
  newRequestId: () => string,
  observer: RequestObserver,
  constant: SecurityHeaders,
): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    const error = new ApiError(405, 'invalid_argument', 'this server is not a proxy', {
      headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
    })
    const id = newRequestId()
    endWith(socket, formatResponse(error, headersOf(error, id, constant), id))
    report(observer, error, id, socket)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const error = new ApiError(417, 'invalid_argument', 'only `Expect: 100-continue` is supported')
    const id = newRequestId()
    const body = JSON.stringify(formatError(error, id))
    const headers = { ...headersOf(error, id, constant), 'content-length': Buffer.byteLength(body) }
    response.writeHead(error.status, headers).end(body)
    report(observer, error, id, request.socket)
  })
}

/**
 * As `observeRequests` does for requests that the framework sees; what was sent is not repeated.
 */
function report({ log, metrics }: RequestObserver, error: ApiError, id: string, socket: Duplex) {
  metrics.tallyOf(null).count(error.status, 0)
  const address = socket instanceof Socket ? (socket.remoteAddress ?? null) : null
  log.info({ request_id: id, route: null, status: error.status, actor: null, address }, 'request')
}

/** Sends the last that this connection carries, and lets go of it whatever its client does. */
function endWith(socket: Duplex, response: string): void {
  // Node hands the socket of a CONNECT over bare: a reset that nobody hears ends the process.
  socket.on('error', () => undefined)
  socket.end(response)
  // Closed with bytes unread, the connection would be reset, and the answer lost on its way.
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** Node hands the bytes over that its parser refused. */
function isTlsHandshake(error: NodeJS.ErrnoException): boolean {
  const refused = 'rawPacket' in error ? error.rawPacket : null
  return (
    refused instanceof Uint8Array && TLS_HANDSHAKE.every((byte, index) => refused[index] === byte)
  )
}

/** For captures of the bytes: a client of TLS shows none of it. */
function refusalOfTls(): ApiError {
  return new ApiError(400, 'invalid_argument', 'this port speaks plain http, not https')
}

function refusalOfParser(code: string | undefined): ApiError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError(408, 'invalid_argument', 'the request took too long to arrive')
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError(431, 'invalid_argument', 'the request headers are too large')
    default:
      return new ApiError(400, 'invalid_argument', 'this is not a valid HTTP request')
  }
}

function formatResponse(
  error: ApiError,
  headers: Readonly<Record<string, string>>,
  requestId: string,
): string {
  const body = JSON.stringify(formatError(error, requestId))
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  const status = `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}`
  return [status, ...lines, '', body].join('\r\n')
}

function headersOf(
  error: ApiError,
  requestId: string,
  constant: SecurityHeaders,
): Record<string, string> {
  return {
    ...constant,
    ...error.headers,
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': requestId,
    connection: 'close',
  }
}
