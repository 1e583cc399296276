import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'

declare module 'fastify' {
  interface FastifyRequest {
    /** The `Content-Type` header as it was sent. */
    contentType: string | undefined
  }
}

/** Largest request body that is judged, unless its route has a `bodyLimit`; a longer one is 413. */
export const MAX_BODY_BYTES = 1024 * 1024

/**
 * A request body as it arrived. Nothing about it is judged while it is read, because a caller who
 * may not know whether a resource exists must not learn it from how his body was received.
 */
export interface RawBody {
  /** At most `maxBytes`; empty when `tooLarge`. */
  readonly bytes: Uint8Array
  readonly maxBytes: number
  readonly tooLarge: boolean
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/** Reads a body to its end, but keeps no more of it than may be judged. */
export async function collectBody(
  request: FastifyRequest,
  payload: IncomingMessage,
): Promise<RawBody> {
  const description = describeBody(request)
  let chunks: Buffer[] = []
  let size = 0
  for await (const chunk of payload as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= description.maxBytes) chunks.push(chunk)
    else chunks = []
  }
  const tooLarge = size > description.maxBytes
  return { ...description, bytes: Buffer.concat(chunks), tooLarge }
}

/** The body of a request that sent none. */
export function emptyBody(request: FastifyRequest): RawBody {
  return { ...describeBody(request), bytes: new Uint8Array(), tooLarge: false }
}

function describeBody(request: FastifyRequest): Omit<RawBody, 'bytes' | 'tooLarge'> {
  return {
    maxBytes: request.routeOptions.bodyLimit ?? MAX_BODY_BYTES,
    contentType: request.contentType,
    contentEncoding: request.headers['content-encoding'],
  }
}
