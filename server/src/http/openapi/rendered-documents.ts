import type { FastifyInstance } from 'fastify'
import { createHash } from 'node:crypto'
import { internal, notFound } from '../../platform/api-error.ts'

/** An answer as it is sent to everybody. */
export interface RenderedDocument {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly etag: string
  readonly body: Buffer
}

/** Throws 404. */
export type RenderDocument = (path: string) => Promise<RenderedDocument>

/**
 * Headers that the framework sets for the connection that it answers on, and what `etag` stands
 * for.
 */
const LEFT_OUT = new Set([
  'accept-ranges',
  'connection',
  'date',
  'etag',
  'keep-alive',
  'last-modified',
  'transfer-encoding',
])

/** Each document by one path: other spellings of it would each be made, and kept. */
const PLAIN_PATH = /^(?:\/[\w-][\w.-]*)+\/?$/

/**
 * Answers of `documents` by their paths, each made once and kept: nobody has to sign in to ask for
 * them. Made for each request, forty connections that asked and took nothing held 3 GB, and the
 * YAML form took half a second of everybody's time.
 */
export function renderDocuments(documents: FastifyInstance): RenderDocument {
  const rendered = new Map<string, Promise<RenderedDocument>>()

  async function render(url: string): Promise<RenderedDocument> {
    const { statusCode: status, headers, rawPayload: body } = await documents.inject({ url })
    if (status >= 500) throw internal()
    if (status >= 400) throw notFound('no such path')
    const kept = Object.entries(headers).filter(([name]) => !LEFT_OUT.has(name))
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
      // What there is not has any number of paths.
      rendered.delete(path)
      throw error
    }
  }
}
