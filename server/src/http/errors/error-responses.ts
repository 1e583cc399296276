import { errorEnvelopeSchema } from '@palisade/protocol'
import { STATUS_CODES } from 'node:http'

/** One documented refusal. */
export interface ErrorResponse {
  readonly description: string
  readonly content: { readonly 'application/json': { readonly schema: typeof errorEnvelopeSchema } }
}

/** What every route may have to answer that asks the store for anything. */
const OUR_FAULT = [500, 503]

/** The `response` members of a route schema for the statuses that it may refuse with. */
export function errorResponses(statuses: readonly number[]): Record<number, ErrorResponse> {
  return refusals([...statuses, ...OUR_FAULT])
}

/** The same for a route that asks the store for nothing. */
export function refusals(statuses: readonly number[]): Record<number, ErrorResponse> {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: STATUS_CODES[status] ?? 'Error',
        content: { 'application/json': { schema: errorEnvelopeSchema } },
      },
    ]),
  )
}
