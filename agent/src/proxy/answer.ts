import type { NearMiss } from '@palisade/policy-core'
import type { MachineDecision } from '../decision/active-policy.ts'
import { listDecision } from '../decision/listed-rules.ts'
import type { Refusal } from '../local-api/envelope.ts'
import { renderDenialPage } from './denial-page.ts'
import { describeDenial, describeRemedy } from './describe-denial.ts'

/** A complete answer of the proxy itself, the same for a request and for CONNECT. */
export interface Answer {
  readonly status: number
  /** Printable ASCII. Of a refused tunnel it is all that most programs show. */
  readonly phrase: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export const DECISION_HEADER = 'Palisade-Decision'

/**
 * `deny; reason=default_deny`: a structured field (RFC 9651), for programs that do not read bodies.
 */
export function formatDecisionHeader({ decision, reason, break_glass }: MachineDecision): string {
  return `${decision}; reason=${reason}${break_glass === true ? '; break_glass' : ''}`
}

/**
 * 403 with the decision object, near misses and, in `error`, a sentence that npm prints; a page for
 * a client that takes HTML.
 */
export function answerDenied(
  decision: MachineDecision,
  nearMisses: readonly NearMiss[],
  accept: string | undefined,
): Answer {
  const phrase = describeDenial(decision)
  const headers = { [DECISION_HEADER]: formatDecisionHeader(decision) }
  const listed = listDecision(decision)
  if (wantsHtml(accept))
    return build(403, phrase, renderDenialPage(listed, nearMisses), { ...headers, ...HTML })
  const remedy = describeRemedy(decision)
  const error = remedy === null ? phrase : `${phrase}; ${remedy}`
  const body = { ...listed, near_misses: nearMisses, error }
  return build(403, phrase, `${JSON.stringify(body)}\n`, headers)
}

/** For what was never judged or could not be done. `error` is a text, which npm prints. */
export function answerRefusal({ status, code, reason, message }: Refusal): Answer {
  const phrase = `Palisade: ${message.replaceAll(/[^\x20-\x7e]/gu, '?')}`
  return build(status, phrase, `${JSON.stringify({ error: phrase, code, reason, message })}\n`, {})
}

/** The whole answer as bytes, for a socket that no longer belongs to an HTTP server. */
export function formatRawAnswer({ status, phrase, headers, body }: Answer): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${phrase}`, ...lines, '', body].join('\r\n')
}

const HTML = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'",
  'X-Content-Type-Options': 'nosniff',
}

/** As browsers ask for pages; `*` alone is how programs ask for anything. */
function wantsHtml(accept: string | undefined): boolean {
  return /(?:^|,)\s*text\/html\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|,|$)/i.test(accept ?? '')
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
