import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatError } from './format-error.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { toApiError } from './to-api-error.ts'

/** Answers whatever was thrown in the envelope; what is our fault is logged with its stack. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = toApiError(error)
  if (refusal.status >= 500) request.log.error({ err: error }, 'request failed')
  return reply
    .code(refusal.status)
    .headers({ ...SECURITY_HEADERS, 'x-request-id': request.id, ...refusal.headers })
    .type('application/json; charset=utf-8')
    .send(formatError(refusal, request.id))
}
