import { keySetSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorResponses } from '../http/errors/error-responses.ts'
import type { Store } from '../store/store.ts'
import { isVerifying, publicKeyOf } from './tokens/signing-keys.ts'

/** Others ask again for a key that they do not know, so only a retired one lives on this long. */
const CACHE_CONTROL = 'public, max-age=300'

/** `GET /.well-known/jwks.json` (RFC 7517): for whoever checks our access tokens himself. */
export function keySetRoutes(deps: {
  readonly store: Pick<Store, 'read'>
  readonly now: () => Date
}): FastifyPluginAsyncZod {
  return async (app) => {
    app.get(
      '/.well-known/jwks.json',
      {
        schema: {
          operationId: 'getKeySet',
          tags: ['tokens'],
          summary: 'The public keys of every access token that may still be good',
          security: [],
          querystring: z.strictObject({}),
          response: { 200: keySetSchema, ...errorResponses([400]) },
        },
      },
      async (_request, reply) => {
        const records = await deps.store.read((reader) => reader.signingKeys.list('access_token'))
        const verifying = records.filter((record) => isVerifying(record, deps.now()))
        const keys = verifying.map((record) => ({
          ...publicKeyOf(record),
          alg: 'EdDSA' as const,
          use: 'sig' as const,
        }))
        return reply.header('cache-control', CACHE_CONTROL).send({ keys })
      },
    )
  }
}
