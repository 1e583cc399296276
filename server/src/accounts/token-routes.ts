import { tokenRequestSchema, tokenResponseSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { errorResponses } from '../http/error-responses.ts'
import { createTokenExchange, type ExchangeDeps } from './exchange-secret.ts'

/** A stranger's body is held until all of it is there: of 1 MiB each, 300 held 310 MB. */
const MAX_BODY_BYTES = 64 * 1024

export type TokenRouteDeps = ExchangeDeps

/** `POST /v2/auth/token`: a secret for a short-lived access token. */
export function tokenRoutes(deps: TokenRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const exchange = createTokenExchange(deps)
    app.addHook('onClose', () => deps.tokenUse.flush())

    app.post(
      '/v2/auth/token',
      {
        bodyLimit: MAX_BODY_BYTES,
        schema: {
          operationId: 'createAccessToken',
          tags: ['tokens'],
          summary: 'Exchange a password, personal token or organization token',
          security: [],
          body: tokenRequestSchema,
          response: { 200: tokenResponseSchema, ...errorResponses([400, 401, 413, 415, 429]) },
        },
      },
      async ({ body, ip }) =>
        exchange({
          name: body.username ?? body.identifier ?? '',
          secret: body.password ?? body.secret ?? '',
          address: ip,
        }),
    )
  }
}
