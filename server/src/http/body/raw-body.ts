import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'

declare module 'fastify' {
  interface FastifyRequest {
    /** The `Content-Type` header as sent. */
    contentType: string | undefined
  }
}

/** Default body limit of routes: for members, teams, tokens and settings. */
export const MAX_BODY_BYTES = 64 * 1024
/** The largest body, of a document with policies. */
export const MAX_LARGE_BODY_BYTES = 4 * 1024 * 1024

/**
 * A request body as received. Its faults are reported at the body step of the check order, after
 * the look-ups: otherwise they would reveal whether a resource exists.
 */
export interface RawBody {
  /** At most `maxBytes`; empty when `tooLarge`. */
  readonly bytes: Uint8Array
  readonly maxBytes: number
  readonly tooLarge: boolean
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/**
 * Reads a body until it ends or is too large. `closeAfterUnreadBody` handles the unread rest.
 */
export function collectBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: RawBody) => void,
): void {
  const description = describeBody(request)
  const { maxBytes } = description
  const tooLarge = { ...description, bytes: EMPTY.buffer, tooLarge: true }
  const mostBytes = Number(payload.headers['content-length'] ?? maxBytes)
  if (mostBytes > maxBytes) {
    done(null, tooLarge)
    return
  }
  let received: Received = EMPTY
  // Events instead of iteration, whose promises cost as much as parsing a small body.
  const take = (chunk: Buffer): void => {
    if (received.size + chunk.length <= maxBytes) received = append(received, chunk, mostBytes)
    else finish(tooLarge)
  }
  const end = (): void =>
    finish({ ...description, bytes: received.buffer.subarray(0, received.size), tooLarge: false })
  // A client that leaves early causes an error without an end; errors after the end are ignored.
  const fail = (error: Error): void => done(error)
  const finish = (body: RawBody): void => {
    payload.off('data', take).off('end', end).off('error', fail)
    if (body.tooLarge) payload.pause()
    done(null, body)
  }
  payload.on('data', take).on('end', end).on('error', fail)
}

/** The received bytes: the first `size` of `buffer`. */
interface Received {
  readonly buffer: Buffer
  readonly size: number
}

const EMPTY: Received = { buffer: Buffer.alloc(0), size: 0 }

/**
 * Copies chunks into one buffer, because keeping a chunk of one byte takes hundreds. The first
 * chunk, which is usually the only one, is not copied. The buffer doubles, so that a client that
 * announces more than it sends takes little memory.
 */
function append({ buffer, size }: Received, chunk: Buffer, mostBytes: number): Received {
  if (size === 0) return { buffer: chunk, size: chunk.length }
  const needed = size + chunk.length
  if (needed <= buffer.length) {
    chunk.copy(buffer, size)
    return { buffer, size: needed }
  }
  const larger = Buffer.allocUnsafe(Math.min(2 * needed, mostBytes))
  buffer.copy(larger, 0, 0, size)
  chunk.copy(larger, size)
  return { buffer: larger, size: needed }
}

/** Returns the body of a request without one. */
export function emptyBody(request: FastifyRequest): RawBody {
  return { ...describeBody(request), bytes: new Uint8Array(), tooLarge: false }
}

function describeBody(request: FastifyRequest): Omit<RawBody, 'bytes' | 'tooLarge'> {
  return {
    maxBytes: request.routeOptions.bodyLimit,
    contentType: request.contentType,
    contentEncoding: request.headers['content-encoding'],
  }
}
