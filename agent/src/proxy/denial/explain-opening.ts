import type { IncomingHttpHeaders } from 'node:http'
import { answerDenied, answerRefusal, type Answer } from './answer.ts'
import { formatAuthority, type Target } from '../target/authority.ts'
import type { FindNearMisses } from './near-misses.ts'
import type { Opening } from '../target/open-connection.ts'
import type { BadHead } from '../forward/request-head.ts'

/** The answer to a client when no connection was opened. */
export function explainOpening(
  { nearMisses }: { readonly nearMisses: FindNearMisses },
  opening: Exclude<Opening, { kind: 'open' }>,
  target: Target,
  { accept }: Pick<IncomingHttpHeaders, 'accept'>,
): Answer {
  switch (opening.kind) {
    case 'refused':
      return answerDenied(opening.decision, nearMisses(opening.decision), accept)
    case 'failed':
      return answerRefusal({
        status: 502,
        code: 'internal',
        reason: opening.reason,
        message: describeFailure(opening, target),
      })
  }
}

function describeFailure(opening: Extract<Opening, { kind: 'failed' }>, target: Target): string {
  if (opening.reason === 'parent_failed') return opening.detail
  return opening.reason === 'resolution_failed'
    ? `${target.host} cannot be resolved`
    : `no permitted address of ${formatAuthority(target, null)} can be reached`
}

export function explainBadHead({ status, reason, message }: BadHead): Answer {
  return answerRefusal({ status, code: 'invalid_argument', reason, message })
}

export function explainTooMany(): Answer {
  return answerRefusal({
    status: 429,
    code: 'limit_exceeded',
    reason: 'connections',
    message: 'too many connections pass through the proxy; close some or try again later',
  })
}
