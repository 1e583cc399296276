import { decodeUtf8 } from '@palisade/client'
import { parseJson } from '@palisade/protocol'
import type { IncomingMessage } from 'node:http'
import type { Refusal } from './envelope.ts'

/** A path of 4096 bytes, escaped six-fold, with room to spare. */
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

/** The body as it is. Rejects when the caller hangs up. */
export async function readRequestBytes(
  request: IncomingMessage,
  maxBytes: number,
): Promise<RequestBody<Buffer>> {
  const chunks: Buffer[] = []
  let received = 0
  // Destroying the request on the way out would take the connection away from the answer.
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false })
  for await (const chunk of body) {
    received += chunk.byteLength
    if (received > maxBytes) return refuse(413, `the body is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return { ok: true, value: Buffer.concat(chunks) }
}

function refuse(status: number, message: string): RequestBody<never> {
  return { ok: false, refusal: { status, code: 'invalid_argument', message } }
}
