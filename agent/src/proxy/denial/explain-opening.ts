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
      if (opening.reason === 'parent_failed') return explainParentFault(opening.detail)
      return answerRefusal({
        status: 502,
        code: 'internal',
        reason: opening.reason,
        message:
          opening.reason === 'resolution_failed'
            ? `${target.host} cannot be resolved`
            : `no permitted address of ${formatAuthority(target, null)} can be reached`,
      })
  }
}

/** The answer to a client when the parent proxy failed. `message` holds no credentials. */
export function explainParentFault(message: string): Answer {
  return answerRefusal({ status: 502, code: 'internal', reason: 'parent_failed', message })
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
