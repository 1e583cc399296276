import { ClientError } from '../client-error.ts'
import { parseAnswer, type AnswerSchema } from '../parse-answer.ts'
import type { AccessTokenSource } from './access-token.ts'
import { exchange, type Wire, type WireRequest } from './exchange.ts'
import { withRetries, type Pace } from './retry.ts'

/** Authenticated requests to one server, with answers checked against a schema. */
export interface Call {
  <T>(request: WireRequest, answer: AnswerSchema<T>): Promise<T>
  /** For requests whose answer has no body (204). */
  empty(request: WireRequest): Promise<void>
}

/** Combines token, time limit, retries and parsing. */
export function createCall(wire: Wire, tokens: AccessTokenSource, pace: Pace): Call {
  async function authorized(request: WireRequest): Promise<string> {
    const token = await tokens.get()
    try {
      return await exchange(wire, withToken(request, token))
    } catch (error) {
      // A request with 401 had no effect, so a repeat is safe for every method. It is repeated
      // once, because a server that refuses a fresh token will refuse the next one too.
      if (!(error instanceof ClientError) || error.api?.status !== 401) throw error
      tokens.reject(token)
      return exchange(wire, withToken(request, await tokens.get()))
    }
  }

  const send = (request: WireRequest): Promise<string> =>
    mayRepeat(request) ? withRetries(() => authorized(request), pace) : authorized(request)

  async function call<T>(request: WireRequest, answer: AnswerSchema<T>): Promise<T> {
    return parseAnswer(answer, await send(request))
  }
  return Object.assign(call, {
    async empty(request: WireRequest): Promise<void> {
      await send(request)
    },
  })
}

/**
 * DELETE is excluded although it is idempotent: after a lost answer the repeat would give 404,
 * which hides the success.
 */
function mayRepeat(request: WireRequest): boolean {
  if (request.method === 'GET' || request.method === 'PUT') return true
  return request.method === 'POST' && request.headers?.['idempotency-key'] !== undefined
}

function withToken(request: WireRequest, token: string): WireRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }
}
