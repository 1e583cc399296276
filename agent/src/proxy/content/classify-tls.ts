import { parseClientHello } from './client-hello.ts'
import type { Classifier, Flight } from './flight.ts'

const MAX_HELLO_BYTES = 65_536
/** RFC 8446 §5.1. */
const MAX_RECORD_BYTES = 16_384
const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEADER_BYTES = 5
const MESSAGE_HEADER_BYTES = 4

const MALFORMED: Flight = { kind: 'malformed', protocol: 'tls' }

/** Joins the records of one ClientHello; each byte is read once, however the hello is split. */
export function createTlsClassifier(): Classifier {
  const fragments: Buffer[] = []
  let joined = 0
  /** Length of the whole message; null until its header is complete. */
  let needed: number | null = null
  /** Start of the next record. */
  let next = 0

  /** Takes one whole record; returns the flight once it is certain. */
  const take = (fragment: Buffer): Flight | null => {
    fragments.push(fragment)
    joined += fragment.length
    if (needed === null && joined >= MESSAGE_HEADER_BYTES) {
      const header = Buffer.concat(fragments)
      needed = MESSAGE_HEADER_BYTES + header.readUIntBE(1, 3)
      if (header[0] !== CLIENT_HELLO || needed > MAX_HELLO_BYTES) return MALFORMED
    }
    if (needed === null || joined < needed) return null
    // A client waits for the answer after its hello.
    if (joined > needed) return MALFORMED
    const hello = parseClientHello(Buffer.concat(fragments).subarray(MESSAGE_HEADER_BYTES))
    return hello === null ? MALFORMED : { kind: 'tls', ...hello }
  }

  const read = (received: Buffer): Flight | null => {
    while (received.length >= next + RECORD_HEADER_BYTES) {
      const size = received.readUInt16BE(next + 3)
      const isHandshake = received[next] === HANDSHAKE_RECORD && received[next + 1] === 3
      if (!isHandshake || size === 0 || size > MAX_RECORD_BYTES) return MALFORMED
      const start = next + RECORD_HEADER_BYTES
      if (received.length < start + size) break
      next = start + size
      const flight = take(received.subarray(start, next))
      if (flight !== null) return flight
    }
    return received.length > MAX_HELLO_BYTES ? MALFORMED : null
  }
  return { read, harmless: () => 0 }
}
