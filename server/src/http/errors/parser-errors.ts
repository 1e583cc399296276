import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ApiError } from '../../platform/api-error.ts'
import { formatError } from './format-error.ts'
import type { RequestObserver } from '../observe-requests.ts'
import type { SecurityHeaders } from '../security-headers.ts'

/** Time that a refused client may keep its side of the connection open. */
const LINGER_MS = 1_000

/** First bytes of a TLS handshake: its record type, and the major version of all TLS records. */
const TLS_HANDSHAKE = [0x16, 0x03]
const TLS_ADVICE =
  'a client used TLS on this port, which speaks plain HTTP: ' +
  'give clients an `http://` address, or set `PALISADE_TLS_CERT` and `PALISADE_TLS_KEY`'

/** Answers, with the envelope, requests that Node's HTTP parser refuses. */
export function createClientErrorHandler(
  newRequestId: () => string,
  observer: RequestObserver,
  constant: SecurityHeaders,
): (error: NodeJS.ErrnoException, socket: Duplex) => void {
  /** Logged once: otherwise every poll of a machine with a wrong address would repeat the line. */
  let isTlsReported = false
  return (error, socket) => {
    // A peer that has left, or that is in the middle of an answer, cannot receive a refusal.
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

/** Refuses CONNECT and `Expect`, which Node would drop or answer without the envelope. */
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

/** Counts and logs a refusal like `observeRequests`, without any text of the client. */
function report({ log, metrics }: RequestObserver, error: ApiError, id: string, socket: Duplex) {
  metrics.tallyOf(null).count(error.status, 0)
  const address = socket instanceof Socket ? (socket.remoteAddress ?? null) : null
  log.info({ request_id: id, route: null, status: error.status, actor: null, address }, 'request')
}

/** Sends the last answer of a connection and closes it, whether or not the client does. */
function endWith(socket: Duplex, response: string): void {
  // The socket of a CONNECT has no error listener: a reset would end the process.
  socket.on('error', () => undefined)
  socket.end(response)
  // Closing with unread bytes would reset the connection and lose the answer.
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** Examines the bytes that Node's parser refused. */
function isTlsHandshake(error: NodeJS.ErrnoException): boolean {
  const refused = 'rawPacket' in error ? error.rawPacket : null
  return (
    refused instanceof Uint8Array && TLS_HANDSHAKE.every((byte, index) => refused[index] === byte)
  )
}

/** Visible in packet captures only: a TLS client does not show it. */
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
