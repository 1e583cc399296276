import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import { ApiError, internal, notFound } from './api-error.ts'

const PATHS = ['/openapi.json', '/docs', '/docs/*'] as const

/** What else a client sends is no matter of the documents (RFC 9110 §13.1, §14.2). */
const PASSED_HEADERS = [
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
] as const

/** Headers that the framework sets for the connection that it answers on. */
const OF_THE_CONNECTION = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding'])

/**
 * Documents of the routes registered after it. They are made when somebody first asks: loading what
 * makes them is a tenth of the server's start.
 */
export function registerDocumentRoutes(app: FastifyInstance): void {
  const routes: RouteOptions[] = []
  let documents: Promise<FastifyInstance> | null = null

  async function make(): Promise<FastifyInstance> {
    try {
      const { createDocuments } = await import('./openapi.ts')
      return await createDocuments(routes)
    } catch (error) {
      documents = null
      throw error
    }
  }

  async function answer({ raw }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const describing = await (documents ??= make())
    const headers = passedHeaders(raw.headers)
    const answered = await describing.inject({ method: 'GET', url: raw.url ?? '/', headers })
    if (answered.statusCode >= 400) throw refusalOf(answered.statusCode)
    for (const [name, value] of Object.entries(answered.headers))
      if (!OF_THE_CONNECTION.has(name)) reply.header(name, value)
    return reply.code(answered.statusCode).send(answered.rawPayload)
  }

  for (const path of PATHS) app.get(path, { schema: { hide: true } }, answer)
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') routes.push(route)
  })
}

function passedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const name of PASSED_HEADERS) {
    const value = headers[name]
    if (typeof value === 'string') passed[name] = value
  }
  return passed
}

function refusalOf(statusCode: number): ApiError {
  switch (statusCode) {
    case 400:
    case 403:
    case 404:
      return notFound('no such path')
    case 412:
      return new ApiError(412, 'conflict', 'the page is not what the precondition names')
    case 416:
      return new ApiError(416, 'invalid_argument', 'the page has no such range')
    default:
      return internal()
  }
}
