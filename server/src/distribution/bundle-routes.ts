import { BUNDLE_MEDIA_TYPE } from '@palisade/protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isKnown, readEntityTags } from '../http/entity-tag.ts'
import { errorResponses } from '../http/error-responses.ts'
import type { BundleService } from './bundle-service.ts'

const bundleResponse = {
  description: 'compact JWS (RFC 7515) of the effective policies of the device',
  content: { [BUNDLE_MEDIA_TYPE]: { schema: z.string() } },
}

/** `GET /api/v1/device/bundle`, with the device token as bearer. */
export function bundleRoutes(deps: { readonly bundles: BundleService }): FastifyPluginAsync {
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
      // No promise for what is known: nearly every poll of a fleet ends here.
      (request, reply): Promise<FastifyReply> | undefined => {
        const known = deps.bundles.known(request.headers.authorization)
        if (known === null) return fetch(deps.bundles, request, reply)
        const wanted = isWanted(request, known.etag)
        const body = wanted ? known.body() : null
        if (wanted && body === null) return fetch(deps.bundles, request, reply)
        void sendBundle(reply, { etag: known.etag, body })
        return undefined
      },
    )
  }
}

async function fetch(
  bundles: BundleService,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const wanted = (etag: string): boolean => isWanted(request, etag)
  return sendBundle(reply, await bundles.fetch(request.headers.authorization, wanted))
}

function sendBundle(
  reply: FastifyReply,
  { etag, body }: { readonly etag: string; readonly body: Buffer | null },
): FastifyReply {
  reply.header('etag', etag)
  if (body === null) return reply.code(304).send()
  return reply.header('content-type', BUNDLE_MEDIA_TYPE).send(body)
}

function isWanted(request: FastifyRequest, etag: string): boolean {
  const header = request.headers['if-none-match']
  // What agents send; the list that the header may hold is for others.
  if (header === etag) return false
  return !isKnown(readEntityTags('if-none-match', header), etag)
}
