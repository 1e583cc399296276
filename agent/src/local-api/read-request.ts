import { decodeUtf8 } from '@palisade/client'
import { parseJson } from '@palisade/protocol'
import type { IncomingMessage } from 'node:http'
import type { Refusal } from './envelope.ts'

/** A path of 4096 bytes, escaped six-fold, with room to spare. */
export const MAX_BODY_BYTES = 65_536

export type RequestBody =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly refusal: Refusal }

/** Reads and strictly parses the JSON body of a request. Rejects when the caller hangs up. */
export async function readRequestBody(request: IncomingMessage): Promise<RequestBody> {
  const chunks: Buffer[] = []
  let received = 0
  // Destroying the request on the way out would take the connection away from the answer.
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false })
  for await (const chunk of body) {
    received += chunk.byteLength
    if (received > MAX_BODY_BYTES)
      return refuse(413, `the body is larger than ${MAX_BODY_BYTES} bytes`)
    chunks.push(chunk)
  }
  const text = decodeUtf8(Buffer.concat(chunks))
  if (text === null) return refuse(400, 'the body is not UTF-8 text')
  const json = parseJson(text)
  return json.ok ? { ok: true, value: json.value } : refuse(400, json.problem.message)
}

function refuse(status: number, message: string): RequestBody {
  return { ok: false, refusal: { status, code: 'invalid_argument', message } }
}
