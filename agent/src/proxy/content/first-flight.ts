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

/** Types of records: ChangeCipherSpec, alert, handshake, application data, heartbeat. */
const FIRST_RECORD = 20
const LAST_RECORD = 24
const CIPHER_CHANGE_RECORD = 20
const ALERT_RECORD = 21
const HANDSHAKE_RECORD = 22
const RECORD_HEADER_BYTES = 5
/** Major versions from here on are of no TLS server. */
const MAX_MAJOR_VERSION = 16
const CLIENT_HELLO = 1
/** Blanks in Latin-1, which lenient servers skip before a request. */
const UPPER_BLANKS: ReadonlySet<number> = new Set([0x85, 0xa0])
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
  const [first = 0, , third] = received
  if (first >= FIRST_RECORD && first <= LAST_RECORD) return chooseRecords(received)
  if ((first & 0x80) === 0) return createTextClassifier()
  if (third === undefined) return null
  // The hello of SSL 2, which has no server name, and which old servers accept for TLS.
  if (third === CLIENT_HELLO)
    return decided({ kind: 'tls', serverName: null, hasEncryptedHello: false })
  return UPPER_BLANKS.has(first) ? createTextClassifier() : decided({ kind: 'opaque' })
}

/** For bytes that may be TLS records. */
function chooseRecords(received: Buffer): Classifier | null {
  const [first, major, minor] = received
  if (major === undefined) return null
  if (first === HANDSHAKE_RECORD && major === 3) return createTlsClassifier()
  if (major >= MAX_MAJOR_VERSION) return decided({ kind: 'opaque' })
  if (minor === undefined) return null
  // Versions that programs write. Only a hello begins a connection.
  if (major === 3 && minor >= 1 && minor <= 4) return decided(MALFORMED)
  if (received.length <= RECORD_HEADER_BYTES) return null
  return decided(isDisguisedHello(received) ? MALFORMED : { kind: 'opaque' })
}

/**
 * Some servers accept a ClientHello in a record of any version below 16, and warnings and changes
 * of the cipher before it; the TLS of Go does.
 */
function isDisguisedHello(received: Buffer): boolean {
  const content = received[RECORD_HEADER_BYTES] ?? 0
  const size = received.readUInt16BE(3)
  switch (received[0]) {
    case HANDSHAKE_RECORD:
      return content === CLIENT_HELLO
    case CIPHER_CHANGE_RECORD:
      return size === 1 && content === 1
    case ALERT_RECORD:
      return size === 2 && (content === 1 || content === 2)
    default:
      return false
  }
}

function decided(flight: Flight): Classifier {
  return { read: () => flight, harmless: () => 0 }
}
