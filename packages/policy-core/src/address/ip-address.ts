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

/** `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`; a longer text is no address and not read. */
const MAX_TEXT_LENGTH = 45

/** Reads dotted decimal or any RFC 4291 §2.2 spelling of IPv6; no zone id, no brackets. */
export function parseAddress(text: string): IpAddress | null {
  if (!text.includes(':')) return parseIpv4(text)
  const value = parseIpv6(text)
  return value === null ? null : unmapped(value)
}

/** Reads four decimal numbers 0 to 255 without leading zeros: no other spelling of IPv4. */
export function parseIpv4(text: string): IpAddress | null {
  if (text.length > MAX_TEXT_LENGTH) return null
  const parts = text.split('.')
  if (parts.length !== 4) return null
  let value = 0n
  for (const part of parts) {
    if (!/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return null
    value = (value << 8n) | BigInt(part)
  }
  return { family: 4, value }
}

/** The 128 bits of an IPv6 address as written, IPv4-mapped ones included. */
export function parseIpv6(text: string): bigint | null {
  if (text.length > MAX_TEXT_LENGTH) return null
  const halves = text.split('::')
  if (halves.length > 2) return null
  const head = parseGroups(halves[0] ?? '', halves.length === 1)
  const tail = parseGroups(halves[1] ?? '', true)
  if (head === null || tail === null) return null
  // `::` stands for one or more groups of zeros, never for none.
  const missing = 8 - head.length - tail.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null
  const groups = [...head, ...Array<bigint>(missing).fill(0n), ...tail]
  return groups.reduce((value, group) => (value << 16n) | group, 0n)
}

/** 16-bit groups between colons; the last may be dotted decimal where the address ends. */
function parseGroups(text: string, endsAddress: boolean): bigint[] | null {
  if (text === '') return []
  const parts = text.split(':')
  const groups: bigint[] = []
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(BigInt(`0x${part}`))
      continue
    }
    const ipv4 = endsAddress && index === parts.length - 1 ? parseIpv4(part) : null
    if (ipv4 === null) return null
    groups.push(ipv4.value >> 16n, ipv4.value & 0xffffn)
  }
  return groups
}

function unmapped(value: bigint): IpAddress {
  return value >> 32n === MAPPED_PREFIX
    ? { family: 4, value: value & 0xffffffffn }
    : { family: 6, value }
}

/** Dotted decimal, or RFC 5952: lower case, the first longest run of zero groups as `::`. */
export function formatAddress(address: IpAddress): string {
  return address.family === 4 ? formatIpv4(address.value) : formatIpv6(address.value)
}

function formatIpv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.')
}

export function formatIpv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
  )
  const run = longestZeroRun(groups)
  if (run.length < 2) return groups.join(':')
  const head = groups.slice(0, run.start).join(':')
  return `${head}::${groups.slice(run.start + run.length).join(':')}`
}

function longestZeroRun(groups: readonly string[]): { start: number; length: number } {
  let best = { start: 0, length: 0 }
  let start = 0
  for (const [index, group] of groups.entries()) {
    if (group !== '0') start = index + 1
    else if (index + 1 - start > best.length) best = { start, length: index + 1 - start }
  }
  return best
}
