import { canonicalAddress } from '@palisade/policy-core'
import { parseTargetHost, type Target } from '../target/authority.ts'

/** Reply codes of SOCKS5 (RFC 1928 §6). */
export const REPLY = {
  succeeded: 0,
  failure: 1,
  denied: 2,
  hostUnreachable: 4,
  refused: 5,
  unknownCommand: 7,
  unknownAddress: 8,
} as const
export type Reply = (typeof REPLY)[keyof typeof REPLY]

export const ADDRESS_TYPE = { ipv4: 1, name: 3, ipv6: 4 } as const

/** Characters of a host name; canonicalization would fold others to them. */
const NAME = /^[A-Za-z0-9._-]+$/

/** Bytes of `DST.ADDR` after a name's own length byte. Null for an unknown type. */
export function addressLength(type: number): number | 'prefixed' | null {
  switch (type) {
    case ADDRESS_TYPE.ipv4:
      return 4
    case ADDRESS_TYPE.ipv6:
      return 16
    case ADDRESS_TYPE.name:
      return 'prefixed'
    default:
      return null
  }
}

/** The target of a request, or null for a name that is no canonical host, or port 0. */
export function readTarget(type: number, address: Buffer, port: number): Target | null {
  if (port === 0) return null
  const host = type === ADDRESS_TYPE.name ? readName(address) : formatAddress(address)
  return host === null ? null : { host, port }
}

function readName(bytes: Buffer): string | null {
  const text = bytes.toString('latin1')
  const host = NAME.test(text) ? parseTargetHost(text) : null
  if (host === null) return null
  return host.kind === 'name' ? host.name : host.address
}

function formatAddress(bytes: Buffer): string | null {
  if (bytes.length === 4) return canonicalAddress(bytes.join('.'))
  const words = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16))
  return canonicalAddress(words.join(':'))
}

/** A reply without the bound end of the connection, which programs do not need for CONNECT. */
export function formatReply(reply: Reply): Buffer {
  return Buffer.from([5, reply, 0, ADDRESS_TYPE.ipv4, 0, 0, 0, 0, 0, 0])
}

/** The reply that grants an association: the program sends its datagrams to this IPv4 end. */
export function formatBound(address: string, port: number): Buffer {
  const bound = [...address.split('.').map(Number), port >> 8, port & 0xff]
  return Buffer.from([5, REPLY.succeeded, 0, ADDRESS_TYPE.ipv4, ...bound])
}
