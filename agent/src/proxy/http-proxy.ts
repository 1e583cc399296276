import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { AgentError, systemErrorCode } from '../errors.ts'
import type { EnforcementPoint } from '../points/enforcement-point.ts'
import { createAdmission } from './admission/admission.ts'
import { answerRefusal, type Answer } from './denial/answer.ts'
import { createClientOwners } from '../programs/client-owners.ts'
import { forwardRequest, reply, type PassDeps } from './forward/forward-request.ts'
import type { LiveConnections } from './admission/live-connections.ts'
import { createLoopTurns } from '../http/loop-turns.ts'
import { hangUp, openTunnel } from './tunnel/open-tunnel.ts'
import { connectionOf, PacedConnection, paceConnections } from '../http/paced-connection.ts'
import { refuseLoop, type IsSelf } from './target/refuse-loop.ts'
import { clientEnd } from '../programs/client-end.ts'
import type { TcpEnd } from '../programs/tcp-table.ts'
import { createFindOwners } from '../programs/socket-owners.ts'
import { closeIdleClients } from '../http/close-idle-clients.ts'

/** Loopback only: every client that can connect acts with this user's policy. */
const ADDRESS = '127.0.0.1'

export interface HttpProxyDeps extends Omit<PassDeps, 'admission' | 'turns'> {
  /** 0 for any free one. */
  readonly port: number
  readonly live: LiveConnections
  readonly maxConnections: number
  /** Called with each new connection. */
  readonly onClient?: (client: TcpEnd) => void
  /** Called with a bug, which is logged once and answered with 500. */
  readonly onError: (error: unknown) => void
}

/**
 * The HTTP proxy of this machine, for absolute-form `http:` requests and CONNECT. `start` throws
 * `ERR_PROXY_PORT`. `describe` returns `http://127.0.0.1:PORT`, with port 0 before the start.
 */
export interface HttpProxy extends EnforcementPoint {
  readonly isSelf: IsSelf
}

export function createHttpProxy(deps: HttpProxyDeps): HttpProxy {
  let ownPort = 0
  const server = createServer({
    maxHeaderSize: 16_384,
    // Twelve seconds, including the interval between two checks, which wake an idle agent.
    headersTimeout: 6_000,
    // A body may take any time while it moves.
    requestTimeout: 0,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 6_000,
    // `readForwardRequest` checks the header and explains a refusal in its own answer.
    requireHostHeader: false,
    noDelay: true,
  })
  server.maxConnections = deps.maxConnections
  // 0 means unlimited: Node silently drops fields beyond its limit, `request-head.ts` refuses them.
  server.maxHeadersCount = 0
  server.timeout = deps.idleMs
  // A client that ends its side after the request still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  const turns = createLoopTurns()
  paceConnections(server, turns)
  /** Includes connections detached from the HTTP server: tunnels, and clients that wait for one. */
  const clients = new Set<Socket>()
  const owners = createClientOwners(
    () => clients,
    createFindOwners(() => ({ address: ADDRESS, port: ownPort })),
  )
  const isSelf: IsSelf = (address, port) => isOwn(address, port, ownPort)
  const pass: PassDeps = {
    ...deps,
    turns,
    decide: (request) => refuseLoop(deps.decide(request), isSelf),
    admission: createAdmission(deps.live, owners),
  }
  attach(server, pass, deps.onError)
  server.on('connection', (client: Socket) => {
    clients.add(client)
    const end = clientEnd(client)
    if (end !== null) deps.onClient?.(end)
    client.once('close', () => clients.delete(client))
    closeIdleClients(clients, deps.live.clients, deps.maxConnections)
  })

  return {
    name: 'proxy',
    async start() {
      server.listen(deps.port, ADDRESS)
      try {
        await once(server, 'listening')
      } catch (error) {
        throw new AgentError(
          'ERR_PROXY_PORT',
          [describePortError(deps.port, systemErrorCode(error))],
          error,
        )
      }
      const bound = server.address()
      ownPort = typeof bound === 'object' && bound !== null ? bound.port : 0
    },
    describe: () => `http://${ADDRESS}:${ownPort}`,
    isSelf,
    async stop() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      deps.live.closeAll()
      for (const client of clients) client.destroy()
      await closed
    },
  }
}

function attach(server: Server, pass: PassDeps, onError: (error: unknown) => void): void {
  const forward = (request: IncomingMessage, response: ServerResponse): void => {
    connectionOf(request).begin(request, response)
    forwardRequest(pass, request, response).catch((error: unknown) => {
      onError(error)
      if (response.headersSent) response.destroy()
      else reply(response, internalError())
    })
  }
  server.on('request', forward)
  server.on('checkContinue', forward)
  server.on('connect', (request: IncomingMessage, _: Duplex, head: Buffer) => {
    const client = connectionOf(request).release(head)
    // A client that ended its side during an earlier request gets no tunnel: unread bytes cannot be
    // pushed back after the end of its stream.
    if (client.readableEnded) client.destroy()
    else openTunnel(pass, request, client).catch(onError)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, connection: Duplex) => {
    if (!(connection instanceof PacedConnection) || !connection.writable) connection.destroy()
    else refuseMalformed(connection, error.code)
  })
}

/** Answers malformed input once: a second answer would pass for the answer to the next request. */
function refuseMalformed(connection: PacedConnection, code: string | undefined): void {
  const { response } = connection
  if (response === null) hangUp(connection.release(), describeParseError(code))
  else if (response.writableEnded) connection.destroySoon()
  else connection.destroy()
}

/** Whether a connection would reach this proxy; `0.0.0.0` also leads to loopback. */
function isOwn(address: string, port: number, ownPort: number): boolean {
  return port === ownPort && (address === ADDRESS || address === '0.0.0.0')
}

function describeParseError(code: string | undefined): Answer {
  const status =
    code === 'HPE_HEADER_OVERFLOW' ? 431 : code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
  const message = `the request is not valid HTTP/1.1 (${code ?? 'unknown'})`
  return answerRefusal({ status, code: 'invalid_argument', reason: 'malformed_request', message })
}

function internalError(): Answer {
  return answerRefusal({ status: 500, code: 'internal', message: 'internal error' })
}

function describePortError(port: number, code: string | null): string {
  const remedy = 'set PALISADE_PROXY_PORT to another port, or to 0 for any free one'
  if (code === 'EADDRINUSE') return `port ${port} on ${ADDRESS} is taken; ${remedy}`
  if (code === 'EACCES')
    return `port ${port} needs privileges that this user does not have; ${remedy}`
  return `cannot listen on ${ADDRESS}:${port} (${code}); ${remedy}`
}
