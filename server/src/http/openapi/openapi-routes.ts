import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { isKnown, readEntityTags, requireMatch } from '../input/entity-tag.ts'
import { renderDocuments, type RenderDocument } from './rendered-documents.ts'
import { pathOfTarget } from '../request-target.ts'
import { slicedBody } from '../body/sliced-body.ts'

const PATHS = ['/openapi.json', '/docs', '/docs/*'] as const

/**
 * Serves the OpenAPI document and its pages, for the routes registered later. They are rendered at
 * the first request, because loading the generator would slow down each start. Range requests get
 * the whole document.
 */
export function registerOpenapiRoutes(app: FastifyInstance): void {
  const routes: RouteOptions[] = []
  let documents: Promise<RenderDocument> | null = null

  async function make(): Promise<RenderDocument> {
    try {
      const { createDocuments } = await import('./openapi.ts')
      return renderDocuments(await createDocuments(routes))
    } catch (error) {
      documents = null
      throw error
    }
  }

  async function answer({ raw }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const render = await (documents ??= make())
    const { status, headers, etag, body } = await render(pathOfTarget(raw.url ?? '/'))
    requireMatch(readEntityTags('if-match', raw.headers['if-match']), etag, 'page')
    reply.headers(headers).header('etag', etag)
    if (isKnown(readEntityTags('if-none-match', raw.headers['if-none-match']), etag))
      return reply.code(304).removeHeader('content-length').send()
    return reply.code(status).send(slicedBody(body))
  }

  for (const path of PATHS) app.get(path, { schema: { hide: true } }, answer)
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') routes.push(route)
  })
}
