import { decodeUtf8 } from '@palisade/client'
import { parseJson } from '@palisade/protocol'
import type { IncomingMessage } from 'node:http'
import { isFragmented } from '../sync/transport/read-chunks.ts'
import type { Refusal } from '../http/envelope.ts'

/** Room for a path of 4096 bytes, escaped six-fold. */
export const MAX_BODY_BYTES = 65_536

export type RequestBody<T = unknown> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal }

/** Reads and strictly parses the JSON body of a request. Rejects when the caller hangs up. */
export async function readRequestBody(request: IncomingMessage): Promise<RequestBody> {
  const bytes = await readRequestBytes(request, MAX_BODY_BYTES)
  if (!bytes.ok) return bytes
  const text = decodeUtf8(bytes.value)
  if (text === null) return refuse(400, 'the body is not UTF-8 text')
  const json = parseJson(text)
  return json.ok ? { ok: true, value: json.value } : refuse(400, json.problem.message)
}

/** Reads the raw body. Rejects when the caller hangs up. */
export async function readRequestBytes(
  request: IncomingMessage,
  maxBytes: number,
): Promise<RequestBody<Buffer>> {
  const chunks = await readRequestChunks(request, maxBytes)
  return chunks.ok ? { ok: true, value: Buffer.concat(chunks.value) } : chunks
}

/**
 * Reads the body without joining its chunks, because joining a long one blocks decisions. A refused
 * body is not held, and its remaining chunks are discarded. Rejects when the caller hangs up.
 */
export function readRequestChunks(
  request: IncomingMessage,
  maxBytes: number,
): Promise<RequestBody<readonly Buffer[]>> {
  const { promise, resolve, reject } = Promise.withResolvers<RequestBody<readonly Buffer[]>>()
  let chunks: Buffer[] = []
  let received = 0
  let isOver = false

  function take(chunk: Buffer): void {
    if (isOver) return
    received += chunk.byteLength
    chunks.push(chunk)
    if (received > maxBytes) giveUp(refuse(413, `the body is larger than ${maxBytes} bytes`))
    else if (isFragmented(chunks.length, received))
      giveUp(refuse(413, 'the body comes in too many pieces'))
  }

  function giveUp(refusal: RequestBody<never>): void {
    isOver = true
    chunks = []
    resolve(refusal)
  }

  // Events instead of the stream's iterator, which joins small chunks before they can be counted.
  request.on('data', take)
  request.once('end', () => {
    isOver = true
    resolve({ ok: true, value: chunks })
  })
  request.on('error', reject)
  request.once('close', () => {
    // Every request is closed at its end, and an error would capture the stack each time.
    if (!isOver) reject(new Error('the connection was closed'))
  })
  return promise
}

function refuse(status: number, message: string): RequestBody<never> {
  return { ok: false, refusal: { status, code: 'invalid_argument', message } }
}
