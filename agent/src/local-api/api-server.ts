import { LOCAL_API } from '@palisade/protocol'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { awaitFlushed } from '../http/await-flushed.ts'
import { closeIdleClients } from '../http/close-idle-clients.ts'
import type { LoopTurns } from '../http/loop-turns.ts'
import { connectionOf, paceConnections } from '../http/paced-connection.ts'
import { isBatch } from './batch.ts'
import { formatEnvelope, type Refusal } from '../http/envelope.ts'
import type { AdmitCaller } from './peers.ts'
import { Refused, type Route } from './route.ts'
import { sendJson } from './send-json.ts'

export interface ApiServerDeps {
  readonly routes: ReadonlyMap<string, Route>
  /** The route of `decide` for batches. */
  readonly batches: Route
  readonly turns: LoopTurns
  readonly maxConnections: number
  /** Called with the head of each request; returns why it is refused. */
  readonly screen?: (request: IncomingMessage) => Refusal | null
  /** Absent where the mode of the socket admits its owner only. */
  readonly admit?: AdmitCaller | undefined
  /** A caller that does not read its answer within this time is disconnected. */
  readonly flushTimeoutMs: number
  /** Called with a bug, which is logged once and answered with 500. */
  readonly onError: (error: unknown) => void
}

/** An HTTP server for requests that are as hostile as any other input, not listening yet. */
export function createApiServer(deps: ApiServerDeps): Server {
  const { turns, maxConnections } = deps
  const waiting = createWaiting()
  const serving: Serving = { ...deps, waiting }
  const server = createServer(
    {
      maxHeaderSize: 8192,
      // Including the interval between two checks, a head may take six seconds and a request
      // eleven. A check every second would wake an idle agent too often.
      headersTimeout: 3_000,
      requestTimeout: 8_000,
      keepAliveTimeout: 5_000,
      connectionsCheckingInterval: 3_000,
    },
    (request, response) => {
      connectionOf(request).begin(request, response)
      const refusal = deps.screen?.(request) ?? null
      if (refusal !== null) {
        refuse(request, response, refusal)
        return
      }
      answer(serving, request, response).catch((error: unknown) => {
        if (hasHungUp(request)) return
        deps.onError(error)
        if (response.headersSent) response.destroy()
        else refuse(request, response, { status: 500, code: 'internal', message: 'internal error' })
      })
    },
  )
  server.on('connection', paceConnections(server, turns))
  // A caller that ends its side after the request still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.maxConnections = maxConnections
  const clients = new Set<Socket>()
  server.on('connection', (client: Socket) => {
    clients.add(client)
    client.once('close', () => clients.delete(client))
    closeIdleClients(clients, waiting.clients, maxConnections)
  })
  return server
}

/**
 * Whether the caller hung up. A complete request is destroyed too, but counts as failed only by an
 * error of its connection.
 */
function hasHungUp(request: IncomingMessage): boolean {
  return request.errored !== null || (request.destroyed && !request.complete)
}

/** Requests in progress on routes that wait. */
interface Waiting {
  /** Returns a function that leaves, or null when the route is full. */
  enter(route: Route, client: Socket): (() => void) | null
  clients(): readonly Socket[]
}

function createWaiting(): Waiting {
  const held = new Map<object, { readonly route: Route; readonly client: Socket }>()
  return {
    enter(route, client) {
      const entries = [...held.values()].filter((other) => other.route === route)
      if (entries.length >= route.maxRequests) return null
      const key = {}
      held.set(key, { route, client })
      return () => held.delete(key)
    },
    clients: () => [...held.values()].map(({ client }) => client),
  }
}

interface Serving extends Pick<ApiServerDeps, 'admit' | 'routes' | 'batches' | 'flushTimeoutMs'> {
  readonly waiting: Waiting
}

async function answer(
  serving: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { client } = connectionOf(request)
  let leave = (): void => {}
  try {
    const { route, query } = chooseRoute(serving, request, response)
    leave = enter(route, serving, client, response)
    await route.answer(request, response, query)
    // Until the caller reads the answer, its bytes are in this process, so the slot stays taken.
    // The kernel takes most answers at once, and a timer for each would slow them.
    if (client.writableLength > 0) await awaitFlushed(response, serving.flushTimeoutMs)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    refuse(request, response, error.refusal)
  } finally {
    leave()
  }
}

/** Throws `Refused` for a path, a method or a caller that no route takes. */
function chooseRoute(
  { admit, batches, routes }: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): { readonly route: Route; readonly query: string } {
  const { url = '' } = request
  const { route, query } =
    url === LOCAL_API.decide && isBatch(request)
      ? { route: batches, query: '' }
      : findRoute(routes, url)
  if (route === undefined)
    throw new Refused({ status: 404, code: 'not_found', message: 'no such path' })
  if (route.method !== request.method) {
    response.setHeader('allow', route.method)
    const message = `this path accepts only ${route.method}`
    throw new Refused({ status: 405, code: 'invalid_argument', message })
  }
  const refusal = admit?.(route, connectionOf(request).client) ?? null
  if (refusal !== null) throw new Refused(refusal)
  return { route, query }
}

/** Takes a slot of the route; returns the function that leaves it. Throws `Refused` without one. */
function enter(
  route: Route,
  { waiting }: Serving,
  client: Socket,
  response: ServerResponse,
): () => void {
  if (route.maxRequests === 0) return () => {}
  const leave = waiting.enter(route, client)
  if (leave !== null) return leave
  response.setHeader('retry-after', '1')
  const message = 'too many requests of this kind are waiting; try again later'
  throw new Refused({ status: 429, code: 'limit_exceeded', message })
}

/** A path with a query is unknown unless its route takes one. */
function findRoute(
  routes: Serving['routes'],
  target: string,
): { readonly route: Route | undefined; readonly query: string } {
  const at = target.indexOf('?')
  if (at < 0) return { route: routes.get(target), query: '' }
  const route = routes.get(target.slice(0, at))
  return { route: route?.takesQuery === true ? route : undefined, query: target.slice(at + 1) }
}

/**
 * Refuses without reading the rest of the body, so the connection cannot be reused. It is ended
 * with the answer: while Node waits for the caller to end its side, a body in tiny chunks goes on.
 */
function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (!request.complete) {
    response.setHeader('connection', 'close')
    response.once('finish', () => request.destroy())
  }
  sendJson(response, refusal.status, formatEnvelope(refusal))
}
