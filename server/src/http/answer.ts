import type { FastifyReply } from 'fastify'

/** An answer as plain data, so that it can be stored and replayed. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for an answer without a body. */
  readonly body?: unknown
}

export function sendAnswer(reply: FastifyReply, answer: Answer): FastifyReply {
  return reply.code(answer.status).headers(answer.headers).send(answer.body)
}
