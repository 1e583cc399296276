import {
  LOCAL_API,
  MAX_BUNDLE_BYTES,
  MAX_GRANT_BYTES,
  type AgentStatus,
  type BreakGlassResult,
  type LocalRulesResult,
  type LogVerification,
  type PolicyListLine,
  type SyncResult,
} from '@palisade/protocol'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createLoopTurns } from '../http/loop-turns.ts'
import { connectionOf, paceConnections } from '../http/paced-connection.ts'
import type { ListedDecision, ListedExplanation } from '../decision/listed-rules.ts'
import { awaitFlushed } from '../http/await-flushed.ts'
import { closeIdleClients } from '../http/close-idle-clients.ts'
import type { LogQuery } from '../records/stream-log.ts'
import { formatEnvelope, type Refusal } from './envelope.ts'
import { joinLines } from './join-lines.ts'
import { readLogQuery } from './read-log-query.ts'
import { readRequestBody, readRequestBytes, readRequestChunks } from './read-request.ts'
import { streamAnswer, type StreamReader } from './stream-answer.ts'

export interface LocalApiDeps {
  readonly decide: (request: unknown) => Promise<ListedDecision>
  readonly explain: (request: unknown) => Promise<ListedExplanation>
  readonly status: () => AgentStatus
  /** The rules of this machine, computed while they are sent. */
  readonly policies: () => Iterable<PolicyListLine>
  readonly addDeny: (request: unknown) => Promise<LocalRulesResult>
  readonly removeDenies: (request: unknown) => Promise<LocalRulesResult>
  readonly sync: () => Promise<SyncResult>
  /** The chunks of a bundle file, at most `MAX_BUNDLE_BYTES` long. */
  readonly import: (body: readonly Uint8Array[]) => Promise<SyncResult>
  /** A grant file, at most `MAX_GRANT_BYTES` long. */
  readonly beginBreakGlass: (body: Uint8Array) => Promise<BreakGlassResult>
  readonly endBreakGlass: () => Promise<BreakGlassResult>
  /** Lines of the decision records, each with its line feed. */
  readonly log: (query: LogQuery, reader: StreamReader) => AsyncIterable<string>
  readonly verifyLog: () => Promise<LogVerification>
  /** A caller that does not read its answer within this time is disconnected. */
  readonly flushTimeoutMs: number
  /** Called with a bug, which is logged once and answered with 500. */
  readonly onError: (error: unknown) => void
}

type Route = AnswerRoute | StreamRoute

interface AnswerRoute extends RouteLimits {
  readonly answer: (request: IncomingMessage) => Promise<unknown>
}

/** The only kind of route that takes a query, which it may refuse. */
interface StreamRoute extends RouteLimits {
  readonly stream: (query: string) => (reader: StreamReader) => AsyncIterable<string>
}

interface RouteLimits {
  readonly method: 'GET' | 'POST'
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
/** Each holds the policy that was in force at its start. */
const MAX_LISTINGS = 4
/** Each may hold `MAX_BUNDLE_BYTES`. */
const MAX_IMPORTS = 2
const MAX_GRANTS = 8
/** Each may hold the history that it has not sent yet. */
const MAX_LOGS = 8
/** Each change is written to disk in its turn. */
const MAX_CHANGES = 8

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
  const serving: Serving = {
    routes: createRoutes(deps),
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
        send(
          response,
          500,
          formatEnvelope({ status: 500, code: 'internal', message: 'internal error' }),
        )
      })
    },
  )
  server.on('connection', paceConnections(server, createLoopTurns()))
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
  const answerRequest =
    (decide: (value: unknown) => Promise<unknown>) =>
    async (request: IncomingMessage): Promise<unknown> => {
      const body = await readRequestBody(request)
      if (!body.ok) throw new Refused(body.refusal)
      return decide(body.value)
    }
  const takeGrant = async (request: IncomingMessage): Promise<unknown> => {
    const body = await readRequestBytes(request, MAX_GRANT_BYTES)
    if (!body.ok) throw new Refused(body.refusal)
    return deps.beginBreakGlass(body.value)
  }
  const takeBundle = async (request: IncomingMessage): Promise<unknown> => {
    const body = await readRequestChunks(request, MAX_BUNDLE_BYTES)
    if (!body.ok) throw new Refused(body.refusal)
    return deps.import(body.value)
  }
  const streamLog = (text: string): ReturnType<StreamRoute['stream']> => {
    const query = readLogQuery(text)
    if (typeof query !== 'string') return (reader) => deps.log(query, reader)
    throw new Refused({ status: 400, code: 'invalid_argument', message: query })
  }
  const streamPolicies = (text: string): ReturnType<StreamRoute['stream']> => {
    if (text === '') return () => joinLines(deps.policies())
    const message = 'this path takes no query'
    throw new Refused({ status: 400, code: 'invalid_argument', message })
  }
  return new Map<string, Route>([
    [LOCAL_API.decide, { method: 'POST', answer: answerRequest(deps.decide), maxRequests: 0 }],
    [
      LOCAL_API.explain,
      { method: 'POST', answer: answerRequest(deps.explain), maxRequests: MAX_EXPLANATIONS },
    ],
    [LOCAL_API.status, { method: 'GET', answer: async () => deps.status(), maxRequests: 0 }],
    [
      LOCAL_API.policies,
      {
        method: 'GET',
        stream: streamPolicies,
        maxRequests: MAX_LISTINGS,
      },
    ],
    [
      LOCAL_API.addLocalDeny,
      { method: 'POST', answer: answerRequest(deps.addDeny), maxRequests: MAX_CHANGES },
    ],
    [
      LOCAL_API.removeLocalDenies,
      { method: 'POST', answer: answerRequest(deps.removeDenies), maxRequests: MAX_CHANGES },
    ],
    [LOCAL_API.sync, { method: 'POST', answer: () => deps.sync(), maxRequests: MAX_SYNCS }],
    [LOCAL_API.import, { method: 'POST', answer: takeBundle, maxRequests: MAX_IMPORTS }],
    [LOCAL_API.breakGlass, { method: 'POST', answer: takeGrant, maxRequests: MAX_GRANTS }],
    [
      LOCAL_API.endBreakGlass,
      { method: 'POST', answer: () => deps.endBreakGlass(), maxRequests: MAX_GRANTS },
    ],
    [LOCAL_API.log, { method: 'GET', stream: streamLog, maxRequests: MAX_LOGS }],
    [LOCAL_API.logVerification, { method: 'GET', answer: () => deps.verifyLog(), maxRequests: 1 }],
  ])
}

interface Serving {
  readonly routes: ReadonlyMap<string, Route>
  readonly waiting: Waiting
  readonly flushTimeoutMs: number
}

async function answer(
  { routes, waiting, flushTimeoutMs }: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { route, query } = findRoute(routes, request.url ?? '')
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
  const leave =
    route.maxRequests === 0 ? () => {} : waiting.enter(route, connectionOf(request).client)
  if (leave === null) {
    response.setHeader('retry-after', '1')
    const message = 'too many requests of this kind are waiting; try again later'
    refuse(request, response, { status: 429, code: 'limit_exceeded', message })
    return
  }
  try {
    if ('stream' in route) {
      const { client } = connectionOf(request)
      await streamAnswer(response, client, route.stream(query), flushTimeoutMs)
    } else {
      send(response, 200, `${JSON.stringify(await route.answer(request))}\n`)
      // Until the caller reads the answer, its bytes are in this process, so the slot stays taken.
      await awaitFlushed(response, flushTimeoutMs)
    }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    refuse(request, response, error.refusal)
  } finally {
    leave()
  }
}

/** A path with a query is unknown unless its route takes one. */
function findRoute(
  routes: Serving['routes'],
  target: string,
): { readonly route: Route | undefined; readonly query: string } {
  const at = target.indexOf('?')
  if (at < 0) return { route: routes.get(target), query: '' }
  const route = routes.get(target.slice(0, at))
  return {
    route: route !== undefined && 'stream' in route ? route : undefined,
    query: target.slice(at + 1),
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
