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
export function collectBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: RawBody) => void,
): void {
  const description = describeBody(request)
  let kept: Kept = NOTHING
  let size = 0
  // Not iterated: measured, its promises and the stream's end cost as much as parsing a small body.
  payload.on('data', (chunk: Buffer) => {
    size += chunk.length
    kept = size <= description.maxBytes ? append(kept, chunk) : NOTHING
  })
  // When the client leaves early there is no end; when he leaves later, nobody wants the error.
  const fail = (error: Error): void => done(error)
  payload.on('error', fail)
  payload.on('end', () => {
    payload.off('error', fail)
    const tooLarge = size > description.maxBytes
    done(null, { ...description, bytes: kept.room.subarray(0, kept.size), tooLarge })
  })
}

/** What has arrived: the first `size` bytes of `room`. */
interface Kept {
  readonly room: Buffer
  readonly size: number
}

const NOTHING: Kept = { room: Buffer.alloc(0), size: 0 }

/**
 * Copied into one room that doubles: kept as it arrives, a body in chunks of a byte took 400 bytes for
 * each, so that eight strangers with a megabyte held 3 GB. The first chunk, most often the only one,
 * is not copied.
 */
function append({ room, size }: Kept, chunk: Buffer): Kept {
  if (size === 0) return { room: chunk, size: chunk.length }
  const needed = size + chunk.length
  if (needed <= room.length) {
    chunk.copy(room, size)
    return { room, size: needed }
  }
  const larger = Buffer.allocUnsafe(2 * needed)
  room.copy(larger, 0, 0, size)
  chunk.copy(larger, size)
  return { room: larger, size: needed }
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
