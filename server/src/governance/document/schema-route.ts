import { policyDocumentJsonSchema } from '@palisade/protocol'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isKnown, readEntityTags } from '../../http/input/entity-tag.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'

/** The schema changes with releases only, so editors may use a copy for an hour. */
const CACHE_CONTROL = 'public, max-age=3600'

/**
 * `GET /api/v1/schemas/policies.json`: the schema that `palisade schema` prints, for editors.
 * Editors cannot send a token, and the schema is the same for all organizations.
 */
export function documentSchemaRoute(): Route {
  const text = `${JSON.stringify(policyDocumentJsonSchema(), null, 2)}\n`
  const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`
  return defineRoute(
    {
      method: 'GET',
      path: '/api/v1/schemas/policies.json',
      operationId: 'getPolicyDocumentSchema',
      tags: ['policies'],
      summary: 'The JSON Schema (2020-12) of policy files, for editors',
      callers: 'anyone',
      answers: {
        200: z.record(z.string(), z.unknown()),
        304: z.null().describe('The caller has this schema'),
      },
    },
    async ({ headers, reply }) => {
      const known = readEntityTags('If-None-Match', headers['if-none-match'])
      reply.headers({ etag, 'cache-control': CACHE_CONTROL })
      if (isKnown(known, etag)) return reply.code(304).send(null)
      return reply.type('application/json; charset=utf-8').send(text)
    },
  )
}
