import { setImmediate as pause } from 'node:timers/promises'

/** Made in one turn of the event loop, between which decisions are made. */
const BLOCK_LENGTH = 16_384

/** Formats values as NDJSON, in blocks of many lines, while the caller reads. */
export async function* joinLines(values: Iterable<unknown>): AsyncGenerator<string> {
  let block = ''
  for (const value of values) {
    block += `${JSON.stringify(value)}\n`
    if (block.length < BLOCK_LENGTH) continue
    yield block
    block = ''
    await pause()
  }
  if (block !== '') yield block
}
