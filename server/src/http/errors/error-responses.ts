import { errorEnvelopeSchema } from '@palisade/protocol'
import { STATUS_CODES } from 'node:http'

/** A refusal in the OpenAPI document. */
export interface ErrorResponse {
  readonly description: string
  readonly content: { readonly 'application/json': { readonly schema: typeof errorEnvelopeSchema } }
}

/** Statuses of every route that uses the store. */
const SERVER_ERRORS = [500, 503]

/** Builds the `response` members of a route schema for its refusals. */
export function errorResponses(statuses: readonly number[]): Record<number, ErrorResponse> {
  return refusals([...statuses, ...SERVER_ERRORS])
}

/** Like `errorResponses`, for a route that does not use the store. */
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
