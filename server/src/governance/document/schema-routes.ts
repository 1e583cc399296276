import { policyDocumentJsonSchema } from '@palisade/protocol'
import { createHash } from 'node:crypto'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { isKnown, readEntityTags } from '../../http/input/entity-tag.ts'
import { errorResponses } from '../../http/errors/error-responses.ts'

/** It changes with releases only; an editor that has an old one for an hour is not far off. */
const CACHE_CONTROL = 'public, max-age=3600'

/**
 * `GET /api/v1/schemas/policies.json`: what `palisade schema` prints, for editors. It says nothing
 * of any organization, and editors can send no token.
 */
export function documentSchemaRoutes(): FastifyPluginAsyncZod {
  return async (app) => {
    const text = `${JSON.stringify(policyDocumentJsonSchema(), null, 2)}\n`
    const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`
    app.get(
      '/api/v1/schemas/policies.json',
      {
        schema: {
          operationId: 'getPolicyDocumentSchema',
          tags: ['policies'],
          summary: 'The JSON Schema (2020-12) of files of policies, for editors',
          security: [],
          querystring: z.strictObject({}),
          response: {
            200: z.record(z.string(), z.unknown()),
            304: z.null().describe('The caller has this schema'),
            ...errorResponses([400]),
          },
        },
      },
      async (request, reply) => {
        const known = readEntityTags('If-None-Match', request.headers['if-none-match'])
        reply.headers({ etag, 'cache-control': CACHE_CONTROL })
        if (isKnown(known, etag)) return reply.code(304).send(null)
        return reply.type('application/json; charset=utf-8').send(text as never)
      },
    )
  }
}
