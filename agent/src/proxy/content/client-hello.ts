/** The parts of a TLS ClientHello (RFC 8446 §4.1.2) that name the server. */
export interface ClientHello {
  /** The `host_name` of `server_name` (RFC 6066 §3), as sent; null without one. */
  readonly serverName: string | null
  /** Whether the name may be an outer one, with the real name encrypted (RFC 9849). */
  readonly hasEncryptedHello: boolean
}

const SERVER_NAME = 0
const ENCRYPTED_CLIENT_HELLO = 0xfe0d
const HOST_NAME = 0
const RANDOM_BYTES = 32

/**
 * Parses the body of a ClientHello handshake message. Returns null when it is malformed, repeats an
 * extension, or names several servers: two readers could then choose different names.
 */
export function parseClientHello(body: Buffer): ClientHello | null {
  const reader = createReader(body)
  reader.skip(2 + RANDOM_BYTES)
  reader.skip(reader.number(1))
  const suites = reader.number(2)
  reader.skip(suites)
  reader.skip(reader.number(1))
  if (reader.hasFailed() || suites === 0 || suites % 2 !== 0) return null
  // TLS 1.2 allows a hello without extensions.
  if (reader.left() === 0) return { serverName: null, hasEncryptedHello: false }
  const extensions = readExtensions(reader.bytes(reader.number(2)))
  if (reader.hasFailed() || reader.left() !== 0 || extensions === null) return null
  const named = extensions.get(SERVER_NAME)
  const serverName = named === undefined ? null : readServerName(named)
  if (named !== undefined && serverName === null) return null
  return { serverName, hasEncryptedHello: extensions.has(ENCRYPTED_CLIENT_HELLO) }
}

function readExtensions(list: Buffer): ReadonlyMap<number, Buffer> | null {
  const found = new Map<number, Buffer>()
  const reader = createReader(list)
  while (reader.left() > 0) {
    const type = reader.number(2)
    const data = reader.bytes(reader.number(2))
    if (reader.hasFailed() || found.has(type)) return null
    found.set(type, data)
  }
  return found
}

/** Exactly one entry, which is a host name. */
function readServerName(data: Buffer): string | null {
  const reader = createReader(data)
  const length = reader.number(2)
  if (length !== reader.left()) return null
  const type = reader.number(1)
  const name = reader.bytes(reader.number(2))
  if (reader.hasFailed() || reader.left() !== 0 || type !== HOST_NAME) return null
  return name.length === 0 ? null : name.toString('latin1')
}

interface Reader {
  /** Big-endian; 0 after the end. */
  number(bytes: 1 | 2): number
  bytes(length: number): Buffer
  skip(length: number): void
  left(): number
  /** Whether a read went beyond the end. */
  hasFailed(): boolean
}

function createReader(source: Buffer): Reader {
  let position = 0
  let failed = false
  const take = (length: number): number => {
    const start = position
    if (length > source.length - position) failed = true
    position = Math.min(position + length, source.length)
    return start
  }
  return {
    number(bytes) {
      const start = take(bytes)
      return failed ? 0 : source.readUIntBE(start, bytes)
    },
    bytes(length) {
      const start = take(length)
      return source.subarray(start, position)
    },
    skip(length) {
      take(length)
    },
    left: () => source.length - position,
    hasFailed: () => failed,
  }
}
