import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { isKnown, readEntityTags, requireMatch } from '../input/entity-tag.ts'
import { renderDocuments, type RenderDocument } from './rendered-documents.ts'
import { pathOfTarget } from '../request-target.ts'
import { slicedBody } from '../body/sliced-body.ts'

const PATHS = ['/openapi.json', '/docs', '/docs/*'] as const

/**
 * Documents of the routes registered after it. They are made when somebody first asks: loading what
 * makes them is a tenth of the server's start. Whole or not at all: ranges are for larger files.
 */
export function registerDocumentRoutes(app: FastifyInstance): void {
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
