import type { MachineDecision } from '../../decision/active-policy.ts'
import type { PointEvent } from '../../points/point-event.ts'
import type { ReadProgramEnd } from '../../programs/program-end.ts'
import { once } from 'node:events'
import {
  request as sendRequest,
  type IncomingMessage,
  type InformationEvent,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Admission } from '../admission/admission.ts'
import { DECISION_HEADER, formatDecisionHeader, type Answer } from '../denial/answer.ts'
import { awaitFlushed } from '../../http/await-flushed.ts'
import { watchBodyRate, type BodyRate } from './body-rate.ts'
import { explainFailure, explainSlowBody } from './explain-failure.ts'
import { explainBadHead, explainOpening, explainTooMany } from '../denial/explain-opening.ts'
import {
  MAX_HEAD_BYTES,
  pairHeaders,
  valuesOf,
  withoutHopByHop,
  type HeaderList,
} from '../../http/header-list.ts'
import type { Slot } from '../admission/live-connections.ts'
import type { FindNearMisses } from '../denial/near-misses.ts'
import { formatAuthority, type Target } from '../target/authority.ts'
import { openConnection, type OpenDeps, type Opening } from '../target/open-connection.ts'
import type { LoopTurns } from '../../http/loop-turns.ts'
import { paceAnswer, PacedAnswers } from '../../http/paced-answers.ts'
import { connectionOf } from '../../http/paced-connection.ts'
import { readForwardRequest, type ForwardRequest } from './request-head.ts'

/** Sends the head as bytes; as text it would be written in UTF-8. */
const NO_BYTES = Buffer.alloc(0)

/** How long a client that has ended its side may wait; it may be gone. */
const HALF_CLOSED_MS = 30_000

export interface PassDeps extends OpenDeps {
  readonly admission: Admission
  readonly bodyRate: BodyRate
  /** Shared by all connections of the proxy. */
  readonly turns: LoopTurns
  /** A connection without traffic for this long is closed. */
  readonly idleMs: number
  /** A client that does not read a refusal within this time is disconnected. */
  readonly flushTimeoutMs: number
  readonly programEnd: ReadProgramEnd
  /** Replaces an address that stands for a name; absent where no address does. */
  readonly rename?: (target: Target) => Target
  /** Called once for each decided target, and at the end of each opened connection. */
  readonly onEvent: (event: PointEvent) => void
  readonly nearMisses: FindNearMisses
  /** Called with a bug, which is logged once and answered with 500. */
  readonly onError: (error: unknown) => void
}

type Opened = Extract<Opening, { kind: 'open' }>

/** Forwards one absolute-form request to its origin, or answers with a refusal. */
export async function forwardRequest(
  deps: PassDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { rawHeaders, httpVersion } = request
  const connection = connectionOf(request)
  const { client } = connection
  const { method, target: url } = connection.lineOf(request)
  const forward = readForwardRequest({ method, url, rawHeaders, httpVersion })
  if (!forward.ok) return reply(response, explainBadHead(forward))
  const slot = await deps.admission.enterEarly(client)
  if (slot === null) return reply(response, explainTooMany())
  const gone = new AbortController()
  response.once('close', () => gone.abort('the client is gone'))
  // The response may have closed during the admission.
  if (client.destroyed) gone.abort('the client is gone')
  const lift = awaitEnd(client, () => gone.abort('the client is gone'))
  try {
    // A parent proxy may answer TRACE with the fields of the request, which hold its credentials.
    const purpose = method === 'TRACE' ? 'tunnel' : 'request'
    const opening = await openConnection({ ...deps, purpose }, forward.target, slot, gone.signal)
    if (opening.kind === 'open' || opening.kind === 'refused') {
      const { decision } = opening
      deps.onEvent({ point: 'proxy', protocol: 'http', decision, client: deps.programEnd(client) })
    }
    if (opening.kind !== 'open') {
      reply(response, explainOpening(deps, opening, forward.target, request.headers))
      return await awaitFlushed(response, deps.flushTimeoutMs)
    }
    await exchange(deps, { forward, opening, slot, signal: gone.signal }, request, response)
  } finally {
    lift()
    slot.leave()
  }
}

/** Calls `onOver` some time after the client ends its side. */
function awaitEnd(client: Socket, onOver: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const onEnd = (): void => {
    timer = setTimeout(onOver, HALF_CLOSED_MS).unref()
  }
  if (client.readableEnded) onEnd()
  else client.once('end', onEnd)
  return () => {
    clearTimeout(timer)
    client.off('end', onEnd)
  }
}

/**
 * The iterator of a stream joins chunks that arrive together, so a tiny chunk costs no write.
 * `source` stays open, because the client of a failed body must still be answered.
 */
async function* joinChunks(source: Readable): AsyncGenerator<Buffer> {
  yield* source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
}

interface Passage {
  readonly forward: ForwardRequest
  readonly opening: Opened
  readonly slot: Slot
  readonly signal: AbortSignal
}

async function exchange(
  deps: PassDeps,
  passage: Passage,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { forward, opening, slot, signal } = passage
  const upstream = sendRequest({
    method: forward.method,
    ...composeRequest(forward, opening),
    setHost: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    // The socket is already connected; without an agent no other request uses it.
    // Node writes the head as text without an encoding where the request expects 100.
    createConnection: () =>
      new PacedAnswers(opening.socket, deps.turns).setDefaultEncoding('latin1'),
  })
  paceAnswer(upstream, (interim) => passInterim(request, response, interim))
  const close = (): void => {
    upstream.destroy()
    opening.socket.destroy()
    response.destroy()
  }
  slot.guard({ action: 'connect:tcp', ...forward.target, address: opening.address }, close)
  opening.socket.setTimeout(deps.idleMs, () => upstream.destroy(new Error('it took too long')))
  upstream.on('error', () => opening.socket.destroy())
  let isSlow = false
  const leastRate = { ...deps.bodyRate, waits: request.headers.expect !== undefined }
  const rate = watchBodyRate(request, upstream, leastRate, () => {
    isSlow = true
    upstream.destroy()
    if (response.headersSent) response.destroy()
  })
  try {
    // The origin may answer before the body comes.
    if (!request.complete && request.readableLength === 0) upstream.flushHeaders()
    // `awaitAnswer` reports a failure of the origin.
    pipeline(joinChunks(request), upstream).catch(() => {})
    const answer = await awaitAnswer(upstream, signal)
    // The piece that held the answer may also have ended the exchange.
    if (upstream.destroyed) throw new Error('bytes follow it, or it breaks off')
    opening.viaParent?.check(answer.statusCode ?? 502)
    beginAnswer(request, response, answer, opening.decision)
    await pipeline(answer, joinChunks, response)
  } catch (error) {
    upstream.destroy()
    if (response.headersSent) response.destroy()
    else reply(response, isSlow ? explainSlowBody() : explainFailure(error))
  } finally {
    rate.stop()
    opening.socket.destroy()
  }
}

/** Forwards an answer such as 100 or 103 (RFC 9110 §15.2), which HTTP/1.0 does not know. */
function passInterim(
  request: IncomingMessage,
  response: ServerResponse,
  { statusCode, statusMessage, rawHeaders }: InformationEvent,
): void {
  if (request.httpVersion === '1.0' || response.headersSent || response.destroyed) return
  if (statusCode === 100) return response.writeContinue()
  const fields = withoutHopByHop(pairHeaders(rawHeaders))
  const lines = fields.map(([name, value]) => `${name}: ${value}`)
  const head = [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, '', ''].join('\r\n')
  connectionOf(request).write(head, 'latin1')
}

/** A 101 without a request for it ends the socket without an `error` event; hence the `close`. */
async function awaitAnswer(
  upstream: ReturnType<typeof sendRequest>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const settled = new AbortController()
  const options = { signal: AbortSignal.any([signal, settled.signal]) }
  try {
    const closed = once(upstream, 'close', options).then(() => {
      throw new Error('it closed the connection')
    })
    const answered = once(upstream, 'response', options)
    const [answer] = (await Promise.race([answered, closed])) as [IncomingMessage]
    // Node takes a 101 without a protocol for an ordinary answer; a client would not.
    if (answer.statusCode === 101) throw new Error('it switched protocols')
    return answer
  } finally {
    settled.abort()
  }
}

/** Passes the head of an answer on. Its body may come much later, or never. */
function beginAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: IncomingMessage,
  decision: MachineDecision,
): void {
  const headers = readAnswerHeaders(answer, decision)
  // The origin reads no further, so this connection ends too (RFC 9112 §9.6).
  if (!request.complete) response.shouldKeepAlive = false
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', headers.flat())
  if (answer.readableLength === 0 && !answer.complete) response.write(NO_BYTES)
}

/** The fields of an answer for the program. Throws for a framing that cannot be passed on. */
export function readAnswerHeaders(answer: IncomingMessage, decision: MachineDecision): HeaderList {
  const headers = pairHeaders(answer.rawHeaders)
  const codings = valuesOf(headers, 'transfer-encoding')
  // Node decodes only `chunked`; with another coding the body would not match its headers.
  if (codings.length > 1 || codings.some((coding) => coding.toLowerCase() !== 'chunked'))
    throw new Error('another transfer coding than `chunked`')
  const kept = withoutHopByHop(headers).filter(
    ([name]) => name.toLowerCase() !== DECISION_HEADER.toLowerCase(),
  )
  return [...kept, [DECISION_HEADER, formatDecisionHeader(decision)]]
}

/** The request for the origin, or in absolute form for the parent proxy. */
function composeRequest(
  { target, path, headers }: ForwardRequest,
  { viaParent }: Opened,
): { readonly path: string; readonly headers: readonly string[] } {
  if (viaParent === undefined) return { path, headers: headers.flat() }
  return {
    path: `http://${formatAuthority(target, 80)}${path === '*' ? '' : path}`,
    headers: [...headers, ...viaParent.headers].flat(),
  }
}

export function reply(response: ServerResponse, answer: Answer): void {
  if (response.destroyed) return
  response.writeHead(answer.status, answer.phrase, answer.headers)
  response.end(answer.body)
}
