import {
  LOCAL_API,
  MAX_BATCH_BYTES,
  MAX_BUNDLE_BYTES,
  MAX_GRANT_BYTES,
  type AgentStatus,
  type BreakGlassResult,
  type SyncResult,
} from '@palisade/protocol'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createLoopTurns, type LoopTurns } from '../http/loop-turns.ts'
import { connectionOf, paceConnections } from '../http/paced-connection.ts'
import type { ListedDecision, ListedExplanation } from '../decision/listed-rules.ts'
import { awaitFlushed } from '../http/await-flushed.ts'
import { closeIdleClients } from '../http/close-idle-clients.ts'
import { answerBatch, isBatch, splitBatch } from './batch.ts'
import { formatEnvelope, type Refusal } from './envelope.ts'
import {
  readRequestBody,
  readRequestBytes,
  readRequestChunks,
  type RequestBody,
} from './read-request.ts'

export interface LocalApiDeps {
  readonly decide: (request: unknown) => Promise<ListedDecision>
  /** Decides a line of a batch. */
  readonly decideUnresolved: (request: unknown) => ListedDecision
  readonly explain: (request: unknown) => Promise<ListedExplanation>
  readonly status: () => AgentStatus
  readonly sync: () => Promise<SyncResult>
  /** The chunks of a bundle file, at most `MAX_BUNDLE_BYTES` long. */
  readonly import: (body: readonly Uint8Array[]) => Promise<SyncResult>
  /** A grant file, at most `MAX_GRANT_BYTES` long. */
  readonly beginBreakGlass: (body: Uint8Array) => Promise<BreakGlassResult>
  readonly endBreakGlass: () => Promise<BreakGlassResult>
  /** A caller that does not read its answer within this time is disconnected. */
  readonly flushTimeoutMs: number
  /** Called with a bug, which is logged once and answered with 500. */
  readonly onError: (error: unknown) => void
}

interface Route {
  readonly method: 'GET' | 'POST'
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  /**
   * Most requests at once; `closeIdleClients` spares their connections. 0 for a route that answers
   * at once.
   */
  readonly maxRequests: number
}

const MAX_CONNECTIONS = 256
/** Limit of callers that wait for a fetch attempt, which all of them share. */
const MAX_SYNCS = 64
/** Explanations are spaced; the last of this many still comes before its caller times out. */
const MAX_EXPLANATIONS = 16
/** Each may hold `MAX_BUNDLE_BYTES`. */
const MAX_IMPORTS = 2
const MAX_GRANTS = 8
/** Each may hold `MAX_BATCH_BYTES`. */
const MAX_BATCHES = 16

/** Carries a refusal out of a route. */
class Refused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/**
 * The local decision API of `protocol/machine/local-api.ts`, not listening yet. The socket's mode
 * decides who may connect; requests are as hostile as any other input.
 */
export function createLocalApi(deps: LocalApiDeps): Server {
  const waiting = createWaiting()
  const turns = createLoopTurns()
  const serving: Serving = {
    routes: createRoutes(deps),
    batches: createBatchRoute(deps, turns),
    waiting,
    flushTimeoutMs: deps.flushTimeoutMs,
  }
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
      answer(serving, request, response).catch((error: unknown) => {
        if (hasHungUp(request)) return
        deps.onError(error)
        if (response.headersSent) response.destroy()
        else refuse(request, response, { status: 500, code: 'internal', message: 'internal error' })
      })
    },
  )
  paceConnections(server, turns)
  // A caller that ends its side after the request still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.maxConnections = MAX_CONNECTIONS
  const clients = new Set<Socket>()
  server.on('connection', (client: Socket) => {
    clients.add(client)
    client.once('close', () => clients.delete(client))
    closeIdleClients(clients, waiting.clients, MAX_CONNECTIONS)
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

function createRoutes(deps: LocalApiDeps): ReadonlyMap<string, Route> {
  const sendResult =
    (result: (request: IncomingMessage) => Promise<unknown>): Route['answer'] =>
    async (request, response) =>
      send(response, 200, `${JSON.stringify(await result(request))}\n`)
  const answerRequest = (decide: (value: unknown) => Promise<unknown>): Route['answer'] =>
    sendResult(async (request) => decide(accept(await readRequestBody(request))))
  const takeGrant = sendResult(async (request) =>
    deps.beginBreakGlass(accept(await readRequestBytes(request, MAX_GRANT_BYTES))),
  )
  const takeBundle = sendResult(async (request) =>
    deps.import(accept(await readRequestChunks(request, MAX_BUNDLE_BYTES))),
  )
  const status = sendResult(async () => deps.status())
  const sync = sendResult(() => deps.sync())
  const endGrant = sendResult(() => deps.endBreakGlass())
  return new Map<string, Route>([
    [LOCAL_API.decide, { method: 'POST', answer: answerRequest(deps.decide), maxRequests: 0 }],
    [
      LOCAL_API.explain,
      { method: 'POST', answer: answerRequest(deps.explain), maxRequests: MAX_EXPLANATIONS },
    ],
    [LOCAL_API.status, { method: 'GET', answer: status, maxRequests: 0 }],
    [LOCAL_API.sync, { method: 'POST', answer: sync, maxRequests: MAX_SYNCS }],
    [LOCAL_API.import, { method: 'POST', answer: takeBundle, maxRequests: MAX_IMPORTS }],
    [LOCAL_API.breakGlass, { method: 'POST', answer: takeGrant, maxRequests: MAX_GRANTS }],
    [LOCAL_API.endBreakGlass, { method: 'POST', answer: endGrant, maxRequests: MAX_GRANTS }],
  ])
}

function createBatchRoute(deps: LocalApiDeps, turns: LoopTurns): Route {
  const batch = { decide: deps.decideUnresolved, turns, flushTimeoutMs: deps.flushTimeoutMs }
  return {
    method: 'POST',
    async answer(request, response) {
      const bytes = accept(await readRequestBytes(request, MAX_BATCH_BYTES))
      await answerBatch(batch, accept(splitBatch(bytes)), response)
    },
    maxRequests: MAX_BATCHES,
  }
}

/** The value of a body that was accepted. Throws the refusal of another. */
function accept<T>(body: RequestBody<T>): T {
  if (!body.ok) throw new Refused(body.refusal)
  return body.value
}

interface Serving {
  readonly routes: ReadonlyMap<string, Route>
  /** The route of `decide` for batches. */
  readonly batches: Route
  readonly waiting: Waiting
  readonly flushTimeoutMs: number
}

async function answer(
  { routes, batches, waiting, flushTimeoutMs }: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { url = '' } = request
  const route = url === LOCAL_API.decide && isBatch(request) ? batches : routes.get(url)
  if (route === undefined) {
    refuse(request, response, { status: 404, code: 'not_found', message: 'no such path' })
    return
  }
  if (route.method !== request.method) {
    response.setHeader('allow', route.method)
    const message = `this path accepts only ${route.method}`
    refuse(request, response, { status: 405, code: 'invalid_argument', message })
    return
  }
  const { client } = connectionOf(request)
  const leave = route.maxRequests === 0 ? () => {} : waiting.enter(route, client)
  if (leave === null) {
    response.setHeader('retry-after', '1')
    const message = 'too many requests of this kind are waiting; try again later'
    refuse(request, response, { status: 429, code: 'limit_exceeded', message })
    return
  }
  try {
    await route.answer(request, response)
    // Until the caller reads the answer, its bytes are in this process, so the slot stays taken.
    // The kernel takes most answers at once, and a timer for each would slow them.
    if (client.writableLength > 0) await awaitFlushed(response, flushTimeoutMs)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    refuse(request, response, error.refusal)
  } finally {
    leave()
  }
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
  send(response, refusal.status, formatEnvelope(refusal))
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  })
  response.end(body)
}
