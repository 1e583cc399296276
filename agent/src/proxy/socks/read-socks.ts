import type { ClientBytes } from '../client-bytes.ts'
import type { Target } from '../target/authority.ts'
import { hangUp } from '../tunnel/hang-up.ts'
import type { TunnelRefusal, TunnelRequest } from '../tunnel/open-tunnel.ts'
import { addressLength, formatReply, readTarget, REPLY, type Reply } from './frames.ts'

const VERSION = 5
const CONNECT = 1
const NO_AUTHENTICATION = 0
const NO_METHOD = 0xff
/** SOCKS4: request rejected. */
const SOCKS4_REJECTED = Buffer.from([0, 0x5b, 0, 0, 0, 0, 0, 0])

/** Refuses SOCKS4, which has no names of IPv6 hosts and asks callers to resolve. */
export function refuseSocks4(bytes: ClientBytes): void {
  hangUp(bytes.release(), SOCKS4_REJECTED)
}

/**
 * Negotiates SOCKS5 without authentication and reads a request (RFC 1928). Returns null for a
 * refused one, which is answered here.
 */
export async function readSocks(bytes: ClientBytes): Promise<TunnelRequest | null> {
  if (!(await negotiate(bytes))) return null
  const target = await readRequest(bytes)
  const client = bytes.release()
  if (typeof target === 'number') {
    hangUp(client, formatReply(target))
    return null
  }
  return {
    protocol: 'socks5',
    client,
    target,
    grant: () => client.write(formatReply(REPLY.succeeded)),
    refuse: (refusal) => hangUp(client, formatReply(replyTo(refusal))),
  }
}

async function readRequest(bytes: ClientBytes): Promise<Target | Reply> {
  const head = await bytes.take(4)
  const [version, command, reserved, type = 0] = head ?? []
  if (version !== VERSION || reserved !== 0) return REPLY.failure
  if (command !== CONNECT) return REPLY.unknownCommand
  return readDestination(bytes, type)
}

/** Reads `DST.ADDR` and `DST.PORT`. */
async function readDestination(bytes: ClientBytes, type: number): Promise<Target | Reply> {
  const length = addressLength(type)
  if (length === null) return REPLY.unknownAddress
  const size = length === 'prefixed' ? (await bytes.take(1))?.[0] : length
  const address = await bytes.take(size ?? 0)
  const port = await bytes.take(2)
  if (address === null || port === null) return REPLY.failure
  return readTarget(type, address, port.readUInt16BE()) ?? REPLY.failure
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
