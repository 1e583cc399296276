import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../operations/log/create-log.ts'
import { OVERLOADED } from '../../operations/overload/overload.ts'
import { formatError } from './format-error.ts'
import type { SecurityHeaders } from '../security-headers.ts'
import { toApiError } from './to-api-error.ts'

/** Answers a thrown error with the envelope. Server errors are logged with their stack. */
export function createErrorHandler(
  log: Log,
  constant: SecurityHeaders,
): (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  return (error, request, reply) => {
    const refusal = toApiError(error)
    // Refusals under overload are counted, not logged: a line for each would add to the load.
    if (refusal.status >= 500 && refusal.reason !== OVERLOADED)
      log.error({ request_id: request.id, err: error }, 'request failed')
    return reply
      .code(refusal.status)
      .headers({ ...constant, 'x-request-id': request.id, ...refusal.headers })
      .type('application/json; charset=utf-8')
      .send(formatError(refusal, request.id))
  }
}
