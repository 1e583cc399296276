import type { MachineDecision } from '../decision/active-policy.ts'
import { STATUS_CODES } from 'node:http'
import { formatEnvelope, type Refusal } from '../local-api/envelope.ts'

/** A complete answer of the proxy itself, the same for a request and for CONNECT. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export const DECISION_HEADER = 'Palisade-Decision'

/** `deny; reason=default_deny`: a structured field (RFC 9651), for programs that do not read bodies. */
export function formatDecisionHeader({ decision, reason, break_glass }: MachineDecision): string {
  return `${decision}; reason=${reason}${break_glass === true ? '; break_glass' : ''}`
}

/** 403 with the decision object. */
export function answerDenied(decision: MachineDecision): Answer {
  return build(403, `${JSON.stringify(decision)}\n`, {
    [DECISION_HEADER]: formatDecisionHeader(decision),
  })
}

/** The error envelope, for what was never judged or could not be done. */
export function answerRefusal(refusal: Refusal): Answer {
  return build(refusal.status, formatEnvelope(refusal), {})
}

/** The whole answer as bytes, for a socket that no longer belongs to an HTTP server. */
export function formatRawAnswer(answer: Answer): string {
  const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`)
  const statusLine = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? 'Error'}`
  return [statusLine, ...lines, '', answer.body].join('\r\n')
}

function build(status: number, body: string, headers: Record<string, string>): Answer {
  return {
    status,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      Connection: 'close',
      ...headers,
    },
    body,
  }
}
