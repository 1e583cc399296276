import type { ServerResponse } from 'node:http'
import { setImmediate as pause } from 'node:timers/promises'

/** Written in one turn of the event loop, between which decisions are made. */
const BLOCK_LENGTH = 16_384

/**
 * Sends an NDJSON answer line by line, as fast as the caller reads, so that a long one is never in
 * memory as a whole. The end of the chunked body tells the caller that it is complete. A caller
 * that takes no bytes for `stallMs` is disconnected. Resolves at the end, or once the caller is
 * gone.
 */
export async function sendLines(
  response: ServerResponse,
  lines: Iterable<unknown>,
  stallMs: number,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
  let block = ''
  for (const line of lines) {
    block += `${JSON.stringify(line)}\n`
    if (block.length < BLOCK_LENGTH) continue
    if (!response.write(block)) await awaitDrained(response, stallMs)
    block = ''
    await pause()
    if (response.destroyed) return
  }
  response.end(block)
}

async function awaitDrained(response: ServerResponse, stallMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(() => {
    response.destroy()
    resolve()
  }, stallMs).unref()
  response.once('drain', resolve).once('close', resolve)
  await promise
  clearTimeout(timer)
  response.off('drain', resolve).off('close', resolve)
}
