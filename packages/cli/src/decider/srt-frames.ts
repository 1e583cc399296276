import { decodeUtf8 } from '@palisade/client'
import { parseJson } from '@palisade/protocol'
import { isObject } from '../hook/tool-requests.ts'

const LENGTH_BYTES = 4
const MAX_FRAME_BYTES = 1024 * 1024

export type SrtMessage = Readonly<Record<string, unknown>>

/** The other end does not keep the protocol, so no later message can be trusted. */
export class SrtViolation extends Error {
  override readonly name = 'SrtViolation'
}

/**
 * Yields the messages of a stream: each is a length of four bytes, big end first, and as many bytes
 * of one JSON object in UTF-8. Throws `SrtViolation` at the first frame that is none, and at an
 * unfinished one.
 */
export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<SrtMessage> {
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of source) {
    held = held.byteLength === 0 ? chunk : Buffer.concat([held, chunk])
    while (held.byteLength >= LENGTH_BYTES) {
      const length = held.readUInt32BE(0)
      if (length > MAX_FRAME_BYTES) throw new SrtViolation('a frame is larger than 1 MiB')
      if (held.byteLength < LENGTH_BYTES + length) break
      yield parseFrame(held.subarray(LENGTH_BYTES, LENGTH_BYTES + length))
      held = held.subarray(LENGTH_BYTES + length)
    }
  }
  if (held.byteLength > 0) throw new SrtViolation('the last frame is unfinished')
}

function parseFrame(bytes: Buffer): SrtMessage {
  const text = decodeUtf8(bytes)
  const json = text === null ? null : parseJson(text)
  if (json?.ok !== true || !isObject(json.value))
    throw new SrtViolation('a frame is not one JSON object')
  return json.value
}

export function formatFrame(message: object): Buffer {
  const body = Buffer.from(JSON.stringify(message))
  const frame = Buffer.alloc(LENGTH_BYTES + body.byteLength)
  frame.writeUInt32BE(body.byteLength)
  body.copy(frame, LENGTH_BYTES)
  return frame
}
