import { formatGroups, formatIpv4Bits } from './format-address.ts'
import { scanIpv4 } from './scan-ipv4.ts'
import { createIpv6Scan, scanIpv6, type Ipv6Scan } from './scan-ipv6.ts'

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

/** Arrays to read addresses with: to make them takes as long as to read a short address. */
export interface AddressScratch {
  readonly halves: Uint16Array
  readonly ipv6: Ipv6Scan
}

export function createAddressScratch(): AddressScratch {
  return { halves: new Uint16Array(2), ipv6: createIpv6Scan() }
}

/** Reads four decimal numbers 0 to 255 without leading zeros: no other spelling of IPv4. */
export function parseIpv4(
  text: string,
  halves: Uint16Array = new Uint16Array(2),
): IpAddress | null {
  return scanIpv4(text, 0, halves, 0) ? { family: 4, value: bitsOf(halves, 0, 2) } : null
}

/** The 128 bits of an IPv6 address as written, IPv4-mapped ones included. */
export function parseIpv6(text: string, scan: Ipv6Scan = createIpv6Scan()): bigint | null {
  if (!scanIpv6(text, scan)) return null
  const { groups } = scan
  return (bitsOf(groups, 0, 3) << 80n) | (bitsOf(groups, 3, 6) << 32n) | bitsOf(groups, 6, 8)
}

/** Of at most three groups, which a number holds: each step of a bigint makes a new one. */
function bitsOf(groups: Uint16Array, from: number, to: number): bigint {
  let bits = 0
  for (let at = from; at < to; at += 1) bits = bits * 0x1_0000 + groups[at]!
  return BigInt(bits)
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
  const groups = new Uint16Array(8)
  for (let at = 0; at < 8; at += 1) groups[at] = Number((value >> BigInt(112 - 16 * at)) & 0xffffn)
  return formatGroups(groups)
}
