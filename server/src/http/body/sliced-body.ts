import { Readable } from 'node:stream'
import { nextTurn } from '../../platform/next-turn.ts'

/** About as much as a socket takes at a time. */
const SLICE_BYTES = 64 * 1024

/**
 * The body as it is sent to a client that may take its time; without `Content-Length`. Over TLS all
 * that is written is encrypted at once, and held for each connection: a hundred that asked for one
 * document of 1.7 MB and took nothing had 150 MB, of the same bytes. A client that takes all at
 * once gets one slice each turn of the event loop: the kernel accepts 12 MB in one turn of 50 ms.
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
