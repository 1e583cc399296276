import { formatIpv4Bits, formatWords } from './format-address.ts'
import { bitsOfWords, wordsOfBits } from './ipv6-words.ts'
import { scanIpv4 } from './scan-ipv4.ts'
import { scanIpv6 } from './scan-ipv6.ts'

/**
 * An IP address as a number: 32 bits for IPv4, 128 for IPv6. An IPv4-mapped IPv6 address
 * (RFC 4291 §2.5.5.2) does not occur: it *is* the IPv4 address.
 */
export interface IpAddress {
  readonly family: 4 | 6
  readonly value: bigint
}

/** Number of bits in an address of a family. */
export const FAMILY_BITS: Readonly<Record<IpAddress['family'], number>> = { 4: 32, 6: 128 }

const MAPPED_PREFIX = 0xffffn

/** Reads dotted decimal or any RFC 4291 §2.2 spelling of IPv6; no zone id, no brackets. */
export function parseAddress(text: string): IpAddress | null {
  const ipv4 = parseIpv4(text)
  if (ipv4 !== null) return ipv4
  const value = parseIpv6(text)
  return value === null ? null : unmapped(value)
}

/** Reads four decimal numbers 0 to 255 without leading zeros: no other spelling of IPv4. */
export function parseIpv4(text: string): IpAddress | null {
  const bits = scanIpv4(text, 0)
  return bits === null ? null : { family: 4, value: BigInt(bits >>> 0) }
}

/** The 128 bits of an IPv6 address as written, IPv4-mapped ones included. */
export function parseIpv6(text: string): bigint | null {
  const scanned = scanIpv6(text)
  return scanned === null ? null : bitsOfWords(scanned.words)
}

function unmapped(value: bigint): IpAddress {
  return value >> 32n === MAPPED_PREFIX
    ? { family: 4, value: value & 0xffffffffn }
    : { family: 6, value }
}

/** Dotted decimal, or RFC 5952: lower case, the first longest run of zero groups as `::`. */
export function formatAddress(address: IpAddress): string {
  return address.family === 4 ? formatIpv4Bits(Number(address.value)) : formatIpv6(address.value)
}

export function formatIpv6(value: bigint): string {
  return formatWords(wordsOfBits(value))
}
