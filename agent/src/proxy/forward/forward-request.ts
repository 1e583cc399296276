import type { EnforcementEvent } from '../../enforcement/enforcement-event.ts'
import type { ReadClientEndpoint } from '../../host/process-lookup/client-endpoint.ts'
import { request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Admission } from '../admission/admission.ts'
import type { Answer } from '../denial/answer.ts'
import { awaitFlushed } from '../../http/await-flushed.ts'
import { watchBodyRate, type BodyRate } from './body-rate.ts'
import { explainFailure, explainSlowBody } from './explain-failure.ts'
import { explainBadHead, explainOpening, explainTooMany } from '../denial/explain-opening.ts'
import { MAX_HEAD_BYTES } from '../../http/header-list.ts'
import type { Slot } from '../admission/live-connections.ts'
import type { FindNearMisses } from '../denial/near-misses.ts'
import { formatAuthority, type Target } from '../target/authority.ts'
import { openConnection, type OpenDeps, type Opening } from '../target/open-connection.ts'
import type { LoopTurns } from '../../http/loop-turns.ts'
import { paceAnswer, PacedAnswers } from '../../http/paced-answers.ts'
import { connectionOf } from '../../http/paced-connection.ts'
import { awaitAnswer, beginAnswer, passInterim } from './pass-answer.ts'
import { readForwardRequest, type ForwardRequest } from './request-head.ts'

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
  readonly clientEndpoint: ReadClientEndpoint
  /** Replaces an address that stands for a name; absent where no address does. */
  readonly rename?: (target: Target) => Target
  /** Called once for each decided target, and at the end of each opened connection. */
  readonly onEvent: (event: EnforcementEvent) => void
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
  const { method = '', url = '', rawHeaders, httpVersion } = request
  const { client } = connectionOf(request)
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
      deps.onEvent({
        point: 'proxy',
        protocol: 'http',
        decision,
        client: deps.clientEndpoint(client),
      })
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
