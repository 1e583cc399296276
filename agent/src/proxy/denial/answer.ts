import type { NearMiss } from '@palisade/policy-core'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import { listDecision } from '../../policy/decision/listed-rules.ts'
import type { Refusal } from '../../http/envelope.ts'
import { PAGE_POLICY, renderDenialPage } from './denial-page.ts'
import { describeDenial, describeRemedy } from './describe-denial.ts'

/** A complete answer of the proxy itself, used for requests and for CONNECT. */
export interface Answer {
  readonly status: number
  /** Printable ASCII. For a refused tunnel most programs show only this. */
  readonly phrase: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export const DECISION_HEADER = 'Palisade-Decision'

/**
 * `deny; reason=default_deny`: a structured field (RFC 9651) for programs that do not read bodies.
 */
export function formatDecisionHeader({ decision, reason, break_glass }: MachineDecision): string {
  return `${decision}; reason=${reason}${break_glass === true ? '; break_glass' : ''}`
}

/**
 * A 403 with the decision object, near misses, and an `error` sentence that npm prints. A client
 * that accepts HTML gets a page; one that accepts plain text, and not JSON, gets the sentence.
 */
export function answerDenied(
  decision: MachineDecision,
  nearMisses: readonly NearMiss[],
  accept: string | undefined,
): Answer {
  const phrase = describeDenial(decision)
  const headers = { [DECISION_HEADER]: formatDecisionHeader(decision) }
  const listed = listDecision(decision)
  if (accepts('text/html', accept))
    return build(403, phrase, renderDenialPage(listed, nearMisses), { ...headers, ...HTML })
  const remedy = describeRemedy(decision)
  const support = decision.support_message
  const advised = remedy === null ? phrase : `${phrase}; ${remedy}`
  const error = support === undefined ? advised : `${advised}; ${support}`
  if (accepts('text/plain', accept) && !accepts('application/json', accept))
    return build(403, phrase, `${error}\n`, { ...headers, ...TEXT })
  const body = { ...listed, near_misses: nearMisses, error }
  return build(403, phrase, `${JSON.stringify(body)}\n`, headers)
}

/**
 * An answer for a request that was not decided, or that failed. `error` is a text, which npm
 * prints.
 */
export function answerRefusal({ status, code, reason, message }: Refusal): Answer {
  const phrase = `Palisade: ${message.replaceAll(/[^\x20-\x7e]/gu, '?')}`
  return build(status, phrase, `${JSON.stringify({ error: phrase, code, reason, message })}\n`, {})
}

/** The answer as a raw HTTP message, for a socket that no longer belongs to an HTTP server. */
export function formatRawAnswer({ status, phrase, headers, body }: Answer): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${phrase}`, ...lines, '', body].join('\r\n')
}

const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' }

const HTML = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': PAGE_POLICY,
  'X-Content-Type-Options': 'nosniff',
}

/** Whether `accept` names the type. Programs that do not care accept it only by a wildcard. */
function accepts(type: string, accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return name === type && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })
}

function build(
  status: number,
  phrase: string,
  body: string,
  headers: Record<string, string>,
): Answer {
  return {
    status,
    phrase,
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
