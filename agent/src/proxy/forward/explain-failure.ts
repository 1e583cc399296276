import { describeFault, type ParseError } from '../../http/parse-error.ts'
import { answerRefusal, type Answer } from '../denial/answer.ts'
import { explainParentFault } from '../denial/explain-opening.ts'
import { ParentFault } from '../parent/parent-fault.ts'

/** The answer to a client when the exchange with its origin failed. */
export function explainFailure(error: unknown): Answer {
  if (error instanceof ParentFault) return explainParentFault(error.message)
  return explainBrokenOrigin(describeOriginFault(error))
}

/** Errors without a code are those of the proxy itself. */
export function describeOriginFault(error: unknown): string {
  const { code, reason, message } = error as ParseError
  if (reason !== undefined) return `not valid HTTP/1.1: ${describeFault(error as ParseError)}`
  return code === undefined ? message : `it failed (${code})`
}

export function explainBrokenOrigin(fault: string): Answer {
  return answerRefusal({
    status: 502,
    code: 'internal',
    reason: 'bad_answer',
    message: `the origin sent no valid answer: ${fault}`,
  })
}

export function explainSlowBody(): Answer {
  return answerRefusal({
    status: 408,
    code: 'invalid_argument',
    reason: 'slow_body',
    message: 'the request body is too slow',
  })
}
