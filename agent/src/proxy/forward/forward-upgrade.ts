import { request as sendRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import { awaitFlushed } from '../../http/await-flushed.ts'
import {
  connectionOptions,
  MAX_HEAD_BYTES,
  pairHeaders,
  valuesOf,
  type HeaderList,
} from '../../http/header-list.ts'
import { paceAnswer, PacedAnswers } from '../../http/paced-answers.ts'
import type { FlowEnd } from '../../enforcement/enforcement-event.ts'
import type { Slot } from '../admission/live-connections.ts'
import { formatRawAnswer, type Answer } from '../denial/answer.ts'
import { explainBadHead, explainOpening, explainTooMany } from '../denial/explain-opening.ts'
import { openConnection, type Opening } from '../target/open-connection.ts'
import { hangUp } from '../../http/hang-up.ts'
import { startRelay } from '../tunnel/relay.ts'
import type { PassDeps } from './forward-request.ts'
import { describeOriginFault, explainBrokenOrigin } from './explain-failure.ts'
import { readAnswerHeaders } from './pass-answer.ts'
import { readUpgradeRequest, type ForwardRequest } from './request-head.ts'

/** Time for the origin to answer; the client is not read meanwhile, so its end is not seen. */
const ANSWER_TIMEOUT_MS = 30_000

const EMPTY = Buffer.alloc(0)

const SWITCHED: HeaderList = [
  ['Upgrade', 'websocket'],
  ['Connection', 'Upgrade'],
]

type Opened = Extract<Opening, { kind: 'open' }>

interface Passage {
  readonly forward: ForwardRequest
  readonly opening: Opened
  readonly slot: Slot
  readonly client: Socket
  readonly tell: (decision: MachineDecision, flow?: FlowEnd) => void
}

/**
 * Forwards a request for WebSocket. If the origin switches to it, both connections become a tunnel;
 * any other answer is passed on and ends the connection. `client` is paused and no longer parsed:
 * bytes after the request are for the origin alone, and only after the switch.
 */
export async function forwardUpgrade(
  deps: PassDeps,
  request: IncomingMessage,
  client: Socket,
): Promise<void> {
  client.on('error', () => client.destroy())
  const refuse = (answer: Answer): void => hangUp(client, formatRawAnswer(answer))
  const { method = '', url = '', rawHeaders, httpVersion } = request
  const forward = readUpgradeRequest({ method, url, rawHeaders, httpVersion })
  if (!forward.ok) return refuse(explainBadHead(forward))
  const slot = await deps.admission.enterEarly(client)
  if (slot === null) return refuse(explainTooMany())
  const gone = new AbortController()
  client.once('close', () => gone.abort())
  // The client may have left during the admission.
  if (client.destroyed) gone.abort()
  const end = deps.clientEndpoint(client)
  const tell: Passage['tell'] = (decision, flow) =>
    deps.onEvent({
      point: 'proxy',
      protocol: 'http',
      decision,
      client: end,
      ...(flow === undefined ? {} : { flow }),
    })
  try {
    // A parent proxy need not know WebSocket: the request goes through a tunnel to the origin.
    const opening = await openConnection(deps, forward.target, slot, gone.signal)
    if (opening.kind === 'open' || opening.kind === 'refused') tell(opening.decision)
    if (opening.kind === 'open')
      return await shakeHands(deps, { forward, opening, slot, client, tell })
    refuse(explainOpening(deps, opening, forward.target, request.headers))
    await awaitFlushed(client, deps.flushTimeoutMs)
    slot.leave()
  } catch (error) {
    slot.leave()
    client.destroy()
    throw error
  }
}

async function shakeHands(deps: PassDeps, passage: Passage): Promise<void> {
  const { forward, opening, slot, client } = passage
  const connection = new PacedAnswers(opening.socket, deps.turns).setDefaultEncoding('latin1')
  const upstream = sendRequest({
    method: forward.method,
    path: forward.path,
    headers: forward.headers.flat(),
    setHost: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    createConnection: () => connection,
  })
  paceAnswer(upstream)
  const close = (): void => {
    upstream.destroy()
    opening.socket.destroy()
    client.destroy()
  }
  slot.guard({ action: 'connect:tcp', ...forward.target, address: opening.address }, close)
  opening.socket.setTimeout(deps.idleMs, () => upstream.destroy(new Error('it took too long')))
  let fault = 'it neither switched to WebSocket nor gave another valid answer'
  upstream.on('error', (error) => {
    fault = describeOriginFault(error)
    opening.socket.destroy()
  })
  client.once('close', () => upstream.destroy())
  const timer = setTimeout(
    () => upstream.destroy(new Error('it took too long')),
    ANSWER_TIMEOUT_MS,
  ).unref()
  upstream.end()
  const answered = await awaitAnswer(upstream, connection, opening.decision)
  clearTimeout(timer)
  if (answered?.wire !== undefined && !client.destroyed && !answered.wire.destroyed) {
    startTunnel(deps, passage, answered.head, answered.wire)
    return
  }
  try {
    if (answered === null || answered.wire !== undefined)
      hangUp(client, formatRawAnswer(explainBrokenOrigin(fault)))
    else await passOn(client, answered)
    await awaitFlushed(client, deps.flushTimeoutMs)
  } finally {
    opening.socket.destroy()
    slot.leave()
  }
}

interface Answered {
  /** For the program. */
  readonly head: string
  readonly answer: IncomingMessage
  /** The origin's connection, if it switched; paused, with all bytes after its head unread. */
  readonly wire?: Socket
}

/** Null when the origin closes its connection or sends no valid answer. */
function awaitAnswer(
  upstream: ClientRequest,
  connection: PacedAnswers,
  decision: MachineDecision,
): Promise<Answered | null> {
  return new Promise((resolve) => {
    upstream.once('upgrade', (answer: IncomingMessage, _socket, rest: Buffer) => {
      const wire = connection.release(rest)
      const head = isWebSocket(answer) ? formatHead(answer, decision, SWITCHED) : null
      if (head === null) wire.destroy()
      resolve(head === null ? null : { head, answer, wire })
    })
    upstream.once('response', (answer: IncomingMessage) => {
      // Node takes a 101 without a protocol for an ordinary answer.
      const isFinal = answer.statusCode !== 101
      const head = isFinal ? formatHead(answer, decision, [['Connection', 'close']]) : null
      if (head === null) upstream.destroy()
      resolve(head === null ? null : { head, answer })
    })
    upstream.once('close', () => resolve(null))
  })
}

/** The origin may switch to the protocol that was asked for, and to no other. */
function isWebSocket(answer: IncomingMessage): boolean {
  const headers = pairHeaders(answer.rawHeaders)
  const protocols = valuesOf(headers, 'upgrade')
  return (
    protocols.length === 1 &&
    protocols[0]?.toLowerCase() === 'websocket' &&
    connectionOptions(headers).has('upgrade')
  )
}

function startTunnel(
  deps: PassDeps,
  { forward, opening, slot, client, tell }: Passage,
  head: string,
  wire: Socket,
): void {
  let final = opening.decision
  const relay = startRelay(client, wire, deps.idleMs, (flow) => {
    slot.leave()
    tell(final, flow)
  })
  slot.guard(
    { action: 'connect:tcp', ...forward.target, address: opening.address },
    (denial: MachineDecision | null) => {
      if (denial !== null) final = denial
      relay.close(denial === null ? 'closed' : 'revoked')
    },
  )
  client.write(head, 'latin1')
  relay.passOn(EMPTY)
}

/** The end of the connection is that of the body, and a reset means that it is not complete. */
async function passOn(client: Socket, { head, answer }: Answered): Promise<void> {
  if (client.destroyed) return
  // Bytes after the request are for a protocol that was not agreed on.
  client.resume()
  client.write(head, 'latin1')
  try {
    await pipeline(answer, client, { end: false })
    hangUp(client, '')
  } catch {
    client.resetAndDestroy()
  }
}

/** Null for a framing that cannot be passed on. The parser has checked text and fields. */
function formatHead(
  answer: IncomingMessage,
  decision: MachineDecision,
  further: HeaderList,
): string | null {
  try {
    const { statusCode, statusMessage } = answer
    const fields = [...readAnswerHeaders(answer, decision), ...further]
    const lines = fields.map(([name, value]) => `${name}: ${value}`)
    return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, '', ''].join('\r\n')
  } catch {
    return null
  }
}
