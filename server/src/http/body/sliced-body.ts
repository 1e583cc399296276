import { Readable } from 'node:stream'
import { nextTurn } from '../../platform/next-turn.ts'

/** About as much as a socket accepts at a time. */
const SLICE_BYTES = 64 * 1024

/**
 * Streams a body in slices, without `Content-Length`. A single write over TLS is encrypted at once
 * and held for each connection, so clients that do not read would multiply the same bytes. A fast
 * client gets one slice in each turn of the event loop, because the kernel accepts megabytes in a
 * turn that other requests would wait for.
 */
export function slicedBody(body: Buffer): Readable {
  return Readable.from(slicesOf(body), { objectMode: false, highWaterMark: SLICE_BYTES })
}

async function* slicesOf(body: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < body.byteLength; start += SLICE_BYTES) {
    if (start > 0) await nextTurn()
    yield body.subarray(start, start + SLICE_BYTES)
  }
}
