import { once } from 'node:events'
import type { ClientRequest, IncomingMessage, InformationEvent, ServerResponse } from 'node:http'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import { pairHeaders, valuesOf, withoutHopByHop, type HeaderList } from '../../http/header-list.ts'
import { connectionOf } from '../../http/paced-connection.ts'
import { DECISION_HEADER, formatDecisionHeader } from '../denial/answer.ts'

/** Sends the head as bytes; as text it would be written in UTF-8. */
const NO_BYTES = Buffer.alloc(0)

/** Forwards an answer such as 100 or 103 (RFC 9110 §15.2), which HTTP/1.0 does not know. */
export function passInterim(
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
export async function awaitAnswer(
  upstream: ClientRequest,
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
export function beginAnswer(
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
