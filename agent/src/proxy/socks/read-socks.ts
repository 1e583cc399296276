import type { ClientBytes } from '../client-bytes.ts'
import { hangUp } from '../../http/hang-up.ts'
import type { TunnelRefusal, TunnelRequest } from '../tunnel/open-tunnel.ts'
import type { AssociationRefusal, AssociationRequest } from '../udp/open-association.ts'
import { addressLength, formatBound, formatReply, readTarget, REPLY, type Reply } from './frames.ts'

const VERSION = 5
const CONNECT = 1
const UDP_ASSOCIATE = 3
const NO_AUTHENTICATION = 0
const NO_METHOD = 0xff
/** SOCKS4: request rejected. */
const SOCKS4_REJECTED = Buffer.from([0, 0x5b, 0, 0, 0, 0, 0, 0])

/** Refuses SOCKS4, which has no names of IPv6 hosts and asks callers to resolve. */
export function refuseSocks4(bytes: ClientBytes): void {
  hangUp(bytes.release(), SOCKS4_REJECTED)
}

export type SocksRequest = TunnelRequest | AssociationRequest

/**
 * Negotiates SOCKS5 without authentication and reads a request (RFC 1928). Returns null for a
 * refused one, which is answered here.
 */
export async function readSocks(bytes: ClientBytes): Promise<SocksRequest | null> {
  if (!(await negotiate(bytes))) return null
  const request = await readRequest(bytes)
  const client = bytes.release()
  if (typeof request === 'number') {
    hangUp(client, formatReply(request))
    return null
  }
  const { command, type, address, port } = request
  if (command === UDP_ASSOCIATE) {
    return {
      protocol: 'socks5_udp',
      client,
      port,
      grant: (end) => client.write(formatBound(end.address, end.port)),
      refuse: (refusal) => hangUp(client, formatReply(ASSOCIATION_REPLY[refusal])),
    }
  }
  const target = readTarget(type, address, port)
  if (target === null) {
    hangUp(client, formatReply(REPLY.failure))
    return null
  }
  return {
    point: 'proxy',
    protocol: 'socks5',
    client,
    target,
    grant: () => client.write(formatReply(REPLY.succeeded)),
    refuse: (refusal) => hangUp(client, formatReply(replyTo(refusal))),
  }
}

interface Request {
  readonly command: typeof CONNECT | typeof UDP_ASSOCIATE
  readonly type: number
  readonly address: Buffer
  readonly port: number
}

async function readRequest(bytes: ClientBytes): Promise<Request | Reply> {
  const head = await bytes.take(4)
  const [version, command, reserved, type = 0] = head ?? []
  if (version !== VERSION || reserved !== 0) return REPLY.failure
  if (command !== CONNECT && command !== UDP_ASSOCIATE) return REPLY.unknownCommand
  const end = await readEnd(bytes, type)
  return typeof end === 'number' ? end : { command, type, ...end }
}

/** Reads `DST.ADDR` and `DST.PORT`. */
async function readEnd(
  bytes: ClientBytes,
  type: number,
): Promise<Pick<Request, 'address' | 'port'> | Reply> {
  const length = addressLength(type)
  if (length === null) return REPLY.unknownAddress
  const size = length === 'prefixed' ? (await bytes.take(1))?.[0] : length
  const address = await bytes.take(size ?? 0)
  const port = await bytes.take(2)
  if (address === null || port === null) return REPLY.failure
  return { address, port: port.readUInt16BE() }
}

async function negotiate(bytes: ClientBytes): Promise<boolean> {
  const greeting = await bytes.take(2)
  const methods = greeting === null ? null : await bytes.take(greeting[1] ?? 0)
  if (methods === null) {
    bytes.release().destroy()
    return false
  }
  if (!methods.includes(NO_AUTHENTICATION)) {
    hangUp(bytes.release(), Buffer.from([VERSION, NO_METHOD]))
    return false
  }
  bytes.write(Buffer.from([VERSION, NO_AUTHENTICATION]))
  return true
}

function replyTo(refusal: TunnelRefusal): Reply {
  switch (refusal.kind) {
    case 'too_many':
      return REPLY.failure
    case 'refused':
      return REPLY.denied
    case 'failed':
      return refusal.reason === 'resolution_failed' ? REPLY.hostUnreachable : REPLY.refused
  }
}

/** A program that cannot have an association may still fall back to TCP. */
const ASSOCIATION_REPLY: Readonly<Record<AssociationRefusal, Reply>> = {
  too_many: REPLY.failure,
  failed: REPLY.failure,
  unsupported: REPLY.unknownCommand,
}
