import { createTextClassifier } from './classify-text.ts'
import { createTlsClassifier } from './classify-tls.ts'
import type { Classifier, Flight } from './flight.ts'

/** Collects the first bytes of a program until they can be classified. */
export interface FirstFlight {
  /** Returns null while more bytes are needed. */
  read(chunk: Buffer): Flight | null
  /** Bytes that may go on already. */
  harmless(): Buffer
  /** Call when the program ends its side before its bytes are classified. */
  end(): Flight
  /** All bytes so far. */
  held(): Buffer
}

const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const MALFORMED: Flight = { kind: 'malformed', protocol: 'tls' }
const END_OF_HEAD = Buffer.from('\r\n\r\n')

export function createFirstFlight(): FirstFlight {
  let bytes: Buffer = Buffer.alloc(0)
  /** Bytes received; the buffer may be longer. */
  let length = 0
  let classifier: Classifier | null = null

  /** The buffer doubles, so that bytes that arrive one by one are not copied each time. */
  const append = (chunk: Buffer): void => {
    if (length === 0) {
      bytes = chunk
    } else {
      if (length + chunk.length > bytes.length) {
        const larger = Buffer.allocUnsafe(Math.max(2 * bytes.length, length + chunk.length))
        bytes.copy(larger, 0, 0, length)
        bytes = larger
      }
      chunk.copy(bytes, length)
    }
    length += chunk.length
  }
  const held = (): Buffer => bytes.subarray(0, length)

  return {
    read(chunk) {
      append(chunk)
      classifier ??= chooseClassifier(held())
      return classifier === null ? null : classifier.read(held())
    },
    end() {
      if (length === 0 || classifier === null) return { kind: 'opaque' }
      // A lenient server takes the end of the stream for the end of the head.
      return classifier.read(Buffer.concat([held(), END_OF_HEAD])) ?? MALFORMED
    },
    harmless: () => held().subarray(0, classifier?.harmless() ?? 0),
    held,
  }
}

/** Returns null while the first bytes fit several protocols. */
function chooseClassifier(received: Buffer): Classifier | null {
  const [first = 0, second, third] = received
  if (first === HANDSHAKE_RECORD) {
    if (second === undefined) return null
    return second === 3 ? createTlsClassifier() : decided({ kind: 'opaque' })
  }
  if ((first & 0x80) === 0) return createTextClassifier()
  if (third === undefined) return null
  // The hello of SSL 2, which has no server name, and which old servers accept for TLS.
  return third === CLIENT_HELLO
    ? decided({ kind: 'tls', serverName: null, hasEncryptedHello: false })
    : decided({ kind: 'opaque' })
}

function decided(flight: Flight): Classifier {
  return { read: () => flight, harmless: () => 0 }
}
