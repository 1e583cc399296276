import type { FastifyReply } from 'fastify'

/** What a request is answered with, as data: so that it can be kept and given again. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for an answer without a body. */
  readonly body?: unknown
}

export function sendAnswer(reply: FastifyReply, answer: Answer): FastifyReply {
  return reply.code(answer.status).headers(answer.headers).send(answer.body)
}
