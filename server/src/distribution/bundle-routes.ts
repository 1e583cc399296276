import { BUNDLE_MEDIA_TYPE } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { isKnown, readEntityTags } from '../http/entity-tag.ts'
import { errorResponses } from '../http/error-responses.ts'
import type { BundleService } from './bundle-service.ts'

const bundleResponse = {
  description: 'compact JWS (RFC 7515) of the effective policies of the device',
  content: { [BUNDLE_MEDIA_TYPE]: { schema: z.string() } },
}

/** `GET /api/v1/device/bundle`, with the device token as bearer. */
export function bundleRoutes(deps: { readonly bundles: BundleService }): FastifyPluginAsyncZod {
  return async (app) => {
    app.get(
      '/api/v1/device/bundle',
      {
        config: { quiet: true },
        schema: {
          operationId: 'getBundle',
          tags: ['devices'],
          summary: 'Fetch the effective policies of this device as one signed document',
          security: [{ device_token: [] }],
          response: {
            200: bundleResponse,
            304: z.undefined().describe('unchanged since the `ETag` in `If-None-Match`'),
            ...errorResponses([400, 401, 403]),
          },
        },
      },
      async (request, reply) => {
        const { body, etag } = await deps.bundles.fetch(request.headers.authorization)
        reply.header('etag', etag)
        const known = readEntityTags('if-none-match', request.headers['if-none-match'])
        if (isKnown(known, etag)) return reply.code(304).send()
        return reply.type(BUNDLE_MEDIA_TYPE).send(body)
      },
    )
  }
}
