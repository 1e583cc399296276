import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { createHash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { parseBearer } from './input/bearer.ts'
import { unauthenticated } from '../platform/api-error.ts'
import { errorResponses } from './errors/error-responses.ts'
import { METRICS_MEDIA_TYPE, type Metrics } from '../operations/metrics/create-metrics.ts'

/** `GET /metrics`, for Prometheus; there is no route when the settings turn it off. */
export function metricsRoutes(deps: {
  readonly metrics: Metrics
  /** With the required bearer token; null when callers need no token. */
  readonly settings: { readonly enabled: boolean; readonly token: string | null }
}): FastifyPluginAsyncZod {
  const { metrics } = deps
  const { enabled, token } = deps.settings
  return async (app) => {
    if (!enabled) return
    app.get(
      '/metrics',
      {
        config: { quiet: true },
        onRequest: async (request) => {
          if (token !== null) requireToken(token, request.headers.authorization)
        },
        schema: {
          operationId: 'getMetrics',
          tags: ['health'],
          summary: 'Metrics of the server, in the Prometheus text format',
          security: token === null ? [] : [{ metrics_token: [] }],
          response: {
            200: {
              description: 'text format 0.0.4',
              content: { 'text/plain': { schema: z.string() } },
            },
            ...errorResponses(token === null ? [400] : [400, 401]),
          },
        },
      },
      async (_request, reply) => reply.type(METRICS_MEDIA_TYPE).send(await metrics.render()),
    )
  }
}

/** Compares hashes, which have equal lengths, so that the time is the same for every guess. */
function requireToken(expected: string, authorizationHeader: string | undefined): void {
  const sent = parseBearer(authorizationHeader)
  if (!timingSafeEqual(sha256(sent), sha256(expected)))
    throw unauthenticated('the metrics token is wrong')
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
