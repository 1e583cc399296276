import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Refusal } from '../http/envelope.ts'
import { readRequestBody, type RequestBody } from './read-request.ts'
import { sendJson } from './send-json.ts'

/** Throws `Refused`. `query` is empty without a question mark. */
export type Answer = (
  request: IncomingMessage,
  response: ServerResponse,
  query: string,
) => Promise<void>

export interface Route {
  readonly method: 'GET' | 'POST'
  readonly answer: Answer
  /** `owner`: only the user of the agent may call it, also where all users reach the socket. */
  readonly callers: 'all' | 'owner'
  /**
   * Most requests at once; `closeIdleClients` spares their connections. 0 for a route that answers
   * at once.
   */
  readonly maxRequests: number
  /** Whether the path may have a query. */
  readonly takesQuery?: true
}

/** Carries a refusal out of a route. */
export class Refused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

export function get(answer: Answer, maxRequests: number): Route {
  return { method: 'GET', callers: 'all', answer, maxRequests }
}

export function post(answer: Answer, maxRequests: number): Route {
  return { method: 'POST', callers: 'all', answer, maxRequests }
}

export function getAsOwner(answer: Answer, maxRequests: number): Route {
  return { ...get(answer, maxRequests), callers: 'owner' }
}

export function postAsOwner(answer: Answer, maxRequests: number): Route {
  return { ...post(answer, maxRequests), callers: 'owner' }
}

/** Answers the request in the JSON body. */
export function sendAnswer(decide: (value: unknown) => Promise<unknown>): Answer {
  return sendResult(async (from) => decide(accept(await readRequestBody(from))))
}

export function sendResult(result: (request: IncomingMessage) => Promise<unknown>): Answer {
  return async (request, response) =>
    sendJson(response, 200, `${JSON.stringify(await result(request))}\n`)
}

/** The value of a body that was accepted. Throws the refusal of another. */
export function accept<T>(body: RequestBody<T>): T {
  if (!body.ok) throw new Refused(body.refusal)
  return body.value
}
