import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { overloaded } from '../../operations/overload/overload.ts'
import type { LargeBody } from './large-bodies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The `Content-Type` header as it was sent. */
    contentType: string | undefined
    /** Of a route that takes large bodies, beyond 64 KiB. */
    largeBody: LargeBody | null
  }
}

/** `Retry-After` of a body that gives its turn to another one. */
const RETRY_SECONDS = 5
/** A body that has sent so much gets the room for all that it may send. */
const FULL_ROOM_AFTER_BYTES = 256 * 1024

/** Largest body of a route without a `bodyLimit`: members, teams, tokens, settings. */
export const MAX_BODY_BYTES = 64 * 1024

/**
 * A request body as it arrived. Its faults wait for the body step of the check order: a caller who
 * must not know whether a resource exists must not learn it from how the body was received.
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
 * Reads a body to its end, or until it is known to be too large, or loses its turn;
 * `closeAfterUnreadBody` sees to the rest.
 */
export function collectBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: RawBody) => void,
): void {
  const description = describeBody(request)
  const { maxBytes } = description
  const tooLarge = { ...description, bytes: NOTHING.room, tooLarge: true }
  const mostBytes = Number(payload.headers['content-length'] ?? maxBytes)
  if (mostBytes > maxBytes) {
    done(null, tooLarge)
    return
  }
  let kept: Kept = NOTHING
  // Not iterated: its promises cost as much as parsing a small body.
  const take = (chunk: Buffer): void => {
    request.largeBody?.add(chunk.length)
    if (kept.size + chunk.length <= maxBytes) kept = append(kept, chunk, mostBytes)
    else finish(tooLarge)
  }
  const end = (): void =>
    finish({ ...description, bytes: kept.room.subarray(0, kept.size), tooLarge: false })
  // When the client leaves early there is no end; an error after the end concerns no one.
  const fail = (error: Error): void => done(error)
  const refuse = (): void => {
    payload.off('data', take).off('end', end).off('error', fail).pause()
    done(overloaded(RETRY_SECONDS))
  }
  const finish = (body: RawBody): void => {
    request.largeBody?.arrived()
    payload.off('data', take).off('end', end).off('error', fail)
    if (body.tooLarge) payload.pause()
    done(null, body)
  }
  request.largeBody?.onDrop(refuse)
  payload.on('data', take).on('end', end).on('error', fail)
}

/** What has arrived: the first `size` bytes of `room`. */
interface Kept {
  readonly room: Buffer
  readonly size: number
}

const NOTHING: Kept = { room: Buffer.alloc(0), size: 0 }

/**
 * Chunks are copied into one room: kept as they arrive, chunks of one byte take 400 bytes each. The
 * first chunk, most often the only one, is not copied. The room doubles, so a client that announces
 * more than it sends takes little memory. From `FULL_ROOM_AFTER_BYTES` on it has `mostBytes`: the
 * kernel gives its pages one by one as they are written, and a copy of 8 MiB into new pages would
 * hold the event loop for 70 ms (bench: server/hostile).
 */
function append({ room, size }: Kept, chunk: Buffer, mostBytes: number): Kept {
  if (size === 0) return { room: chunk, size: chunk.length }
  const needed = size + chunk.length
  if (needed <= room.length) {
    chunk.copy(room, size)
    return { room, size: needed }
  }
  const isLong = needed > FULL_ROOM_AFTER_BYTES
  const larger = Buffer.allocUnsafe(isLong ? mostBytes : Math.min(2 * needed, mostBytes))
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
    maxBytes: request.routeOptions.bodyLimit,
    contentType: request.contentType,
    contentEncoding: request.headers['content-encoding'],
  }
}
