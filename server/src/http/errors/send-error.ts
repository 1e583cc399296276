import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../operations/log/create-log.ts'
import { ApiError } from '../../platform/api-error.ts'
import { StoreError } from '../../store/store-error.ts'
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
    if (refusal.status >= 500 && !isDeliberate(error) && !hasLeft(error, reply))
      log.error({ request_id: request.id, err: error }, 'request failed')
    return reply
      .code(refusal.status)
      .headers({ ...constant, 'x-request-id': request.id, ...refusal.headers })
      .type('application/json; charset=utf-8')
      .send(formatError(refusal, request.id))
  }
}

/**
 * Whether the server refuses by a limit of its own, such as that of hints, of overload or of the
 * disk. The line of the request shows the status; a stack for each would add to the load.
 */
function isDeliberate(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === 'ERR_STORE_FULL'
  return error instanceof ApiError && error.status === 503 && error.cause === undefined
}

/** Whether the caller has left before a stream began: its end is no fault of the server. */
function hasLeft(error: unknown, { raw }: FastifyReply): boolean {
  const isCoded = error instanceof Error && 'code' in error
  return raw.destroyed && isCoded && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
