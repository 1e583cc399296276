import { unexpected } from '../parse-answer.ts'
import type { FetchAnswer } from './fetch.ts'

/**
 * The text of an answer of at most `maxBytes` bytes. A longer one is cut off while it streams and
 * refused with `ERR_UNEXPECTED_ANSWER`, as is text that is not UTF-8.
 */
export async function readBody(
  { body }: Pick<FetchAnswer, 'body'>,
  maxBytes: number,
): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Counted while reading: a content-length is a claim, and compressed bytes grow.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw unexpected(`it is longer than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw unexpected('it is not UTF-8 text')
  }
}
