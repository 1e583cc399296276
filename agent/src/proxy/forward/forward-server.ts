import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { MAX_HEAD_BYTES } from '../../http/header-list.ts'
import { connectionOf, PacedConnection, paceConnections } from '../../http/paced-connection.ts'
import { createConnectRequest } from '../connect/connect-request.ts'
import { answerRefusal, formatRawAnswer, type Answer } from '../denial/answer.ts'
import { describeFault, type ParseError } from '../../http/parse-error.ts'
import { hangUp } from '../../http/hang-up.ts'
import { openTunnel } from '../tunnel/open-tunnel.ts'
import { forwardRequest, reply, type PassDeps } from './forward-request.ts'
import { forwardUpgrade } from './forward-upgrade.ts'
import { isWebSocketUpgrade } from './request-head.ts'

export interface ForwardServer {
  /** Not listening yet. Its connections are not served before `serve`. */
  readonly server: Server
  /** Serves absolute-form requests on a connection, and a CONNECT after them. */
  serve(client: Socket): void
}

export function createForwardServer(deps: PassDeps): ForwardServer {
  const server = createServer({
    maxHeaderSize: MAX_HEAD_BYTES,
    // Twelve seconds, including the interval between two checks, which wake an idle agent.
    headersTimeout: 6_000,
    // A body may take any time while it moves.
    requestTimeout: 0,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 6_000,
    // `readForwardRequest` checks the header and explains a refusal in its own answer.
    requireHostHeader: false,
    shouldUpgradeCallback: isWebSocketUpgrade,
    noDelay: true,
  })
  // 0 means unlimited: Node silently drops fields beyond its limit, `request-head.ts` refuses them.
  server.maxHeadersCount = 0
  server.timeout = deps.idleMs
  // A client that ends its side after the request still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  attach(server, deps)
  return { server, serve: paceConnections(server, deps.turns, { mends: true }) }
}

function attach(server: Server, deps: PassDeps): void {
  const forward = (request: IncomingMessage, response: ServerResponse): void => {
    connectionOf(request).begin(request, response)
    forwardRequest(deps, request, response).catch((error: unknown) => {
      deps.onError(error)
      if (response.headersSent) response.destroy()
      else reply(response, internalError())
    })
  }
  server.on('request', forward)
  // The origin answers expectations.
  server.on('checkContinue', forward)
  server.on('checkExpectation', forward)
  server.on('connect', (request: IncomingMessage, _: Duplex, following: Buffer) => {
    const client = takeOver(request, following)
    if (client === null) return
    const { method = '', url = '', rawHeaders, httpVersion } = request
    const tunnel = createConnectRequest(deps, client, { method, url, rawHeaders, httpVersion })
    if (tunnel !== null) openTunnel(deps, tunnel).catch(deps.onError)
  })
  server.on('upgrade', (request: IncomingMessage, _: Duplex, head: Buffer) => {
    const client = takeOver(request, head)
    if (client !== null) forwardUpgrade(deps, request, client).catch(deps.onError)
  })
  server.on('clientError', (error: ParseError, connection: Duplex) => {
    if (!(connection instanceof PacedConnection) || !connection.writable) connection.destroy()
    else refuseMalformed(connection, error)
  })
}

/** Detaches the connection of a request that asks for a tunnel. */
function takeOver(request: IncomingMessage, head: Buffer): Socket | null {
  const client = connectionOf(request).takeOver(request, head)
  if (!client.readableEnded) return client
  // A client that ended its side during an earlier request gets no tunnel: unread bytes cannot be
  // pushed back after the end of its stream.
  client.destroy()
  return null
}

/** Answers malformed input once: a second answer would pass for the answer to the next request. */
function refuseMalformed(connection: PacedConnection, error: ParseError): void {
  const { response } = connection
  if (response === null) hangUp(connection.release(), formatRawAnswer(describeParseError(error)))
  else if (response.writableEnded) connection.destroySoon()
  else connection.destroy()
}

function describeParseError(error: ParseError): Answer {
  const answer = (status: number, message: string): Answer =>
    answerRefusal({ status, code: 'invalid_argument', reason: 'malformed_request', message })
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return answer(431, 'the head of the request is longer than 64 KiB')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return answer(408, 'the head of the request is incomplete')
    default:
      return answer(400, `the request is not valid HTTP/1.1: ${describeFault(error)}`)
  }
}

function internalError(): Answer {
  return answerRefusal({ status: 500, code: 'internal', message: 'internal error' })
}
