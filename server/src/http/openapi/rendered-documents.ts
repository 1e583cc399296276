import type { FastifyInstance } from 'fastify'
import { createHash } from 'node:crypto'
import { internal, notFound } from '../../platform/api-error.ts'

/** A rendered answer, the same for all callers. */
export interface RenderedDocument {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly etag: string
  readonly body: Buffer
}

/** Renders the document at a path. Throws 404 for an unknown one. */
export type RenderDocument = (path: string) => Promise<RenderedDocument>

/** Headers of the connection, which Fastify sets for each answer, and those replaced by `etag`. */
const OMITTED_HEADERS = new Set([
  'accept-ranges',
  'connection',
  'date',
  'etag',
  'keep-alive',
  'last-modified',
  'transfer-encoding',
])

/** Accepts one spelling of each path: every spelling would be rendered and kept. */
const PLAIN_PATH = /^(?:\/[\w-][\w.-]*)+\/?$/

/**
 * Renders each answer of `documents` once and keeps it. The documents need no authentication, so
 * rendering them for each request would let anonymous clients exhaust memory and time.
 */
export function renderDocuments(documents: FastifyInstance): RenderDocument {
  const rendered = new Map<string, Promise<RenderedDocument>>()

  async function render(url: string): Promise<RenderedDocument> {
    const { statusCode: status, headers, rawPayload: body } = await documents.inject({ url })
    if (status >= 500) throw internal()
    if (status >= 400) throw notFound('no such path')
    const kept = Object.entries(headers).filter(([name]) => !OMITTED_HEADERS.has(name))
    return {
      status,
      headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
      etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
      body,
    }
  }

  return async (path) => {
    if (!PLAIN_PATH.test(path)) throw notFound('no such path')
    const begun = rendered.get(path) ?? render(path)
    rendered.set(path, begun)
    try {
      return await begun
    } catch (error) {
      // Unknown paths must not be kept: there is no bound on their number.
      rendered.delete(path)
      throw error
    }
  }
}
