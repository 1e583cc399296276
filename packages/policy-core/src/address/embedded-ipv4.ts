import type { IpAddress } from './ip-address.ts'
import type { IpRange } from './ip-range.ts'
import { bitsOfWords, maskOf, sliceBits, wordsOfBits, type Ipv6Words } from './ipv6-words.ts'

/** IPv6 addresses that carry IPv4 addresses. The ranges of two carriers are apart. */
export interface Carrier {
  readonly range: IpRange
  /** The base of the range. */
  readonly words: Ipv6Words
  readonly ways: readonly Embedding[]
}

/**
 * One way in which an IPv6 address carries an IPv4 address. Gateways and kernels unwrap them, so a
 * deny of 10.0.0.0/8 that looked at the outer address alone could be walked around.
 */
export interface Embedding {
  /** The bit of the outer address, counted from the left, at which the inner one starts. */
  readonly start: number
  /** How many inner bits stand there; the others stand behind the "u" octet. */
  readonly split: number
  readonly isInverted: boolean
  /** How many leading bits of the outer address fix the first `bits` bits of the inner one. */
  readonly outerBits: (bits: number) => number
}

/** 32 bits found inside an IPv6 address, as a signed number, and how deep they lie. */
export interface EmbeddedBits {
  readonly bits: number
  readonly outerBits: Embedding['outerBits']
}

/** An embedded address as an `IpAddress`. */
export interface EmbeddedIpv4 {
  readonly address: IpAddress
  readonly outerBits: Embedding['outerBits']
}

/** RFC 6052 §2.2: bits 64 to 71 are never part of the inner address. */
const U_OCTET_BITS = 8

const NOTHING_EMBEDDED: readonly EmbeddedBits[] = []

function embedding(start: number, split = 32, isInverted = false): Embedding {
  return {
    start,
    split,
    isInverted,
    outerBits: (bits) => (bits <= split ? start + bits : start + bits + U_OCTET_BITS),
  }
}

function carrier(words: Ipv6Words, prefix: number, ways: readonly Embedding[]): Carrier {
  return { range: { family: 6, base: bitsOfWords(words), prefix }, words, ways }
}

export const CARRIERS: readonly Carrier[] = [
  // IPv4-compatible, RFC 4291 §2.5.5.1
  carrier([0, 0, 0, 0], 96, [embedding(96)]),
  // IPv4-translated, RFC 2765 §2.1
  carrier([0, 0, 0xffff_0000 | 0, 0], 96, [embedding(96)]),
  // NAT64 well-known prefix, RFC 6052 §2.1
  carrier([0x0064_ff9b, 0, 0, 0], 96, [embedding(96)]),
  // NAT64 local-use prefix, RFC 8215: its operator may split it at any length of RFC 6052
  carrier([0x0064_ff9b, 0x0001_0000, 0, 0], 48, [
    embedding(48, 16),
    embedding(56, 8),
    embedding(72),
    embedding(96),
  ]),
  // 6to4, RFC 3056 §2
  carrier([0x2002_0000, 0, 0, 0], 16, [embedding(16)]),
  // Teredo server, then client with every bit inverted, RFC 4380 §4
  carrier([0x2001_0000, 0, 0, 0], 32, [embedding(32), embedding(96, 32, true)]),
]

/** Every IPv4 address inside an IPv6 address; empty for IPv4, `::` and `::1`. */
export function embeddedIpv4(address: IpAddress): readonly EmbeddedIpv4[] {
  if (address.family === 4) return []
  return findEmbedded(wordsOfBits(address.value)).map(({ bits, outerBits }) => ({
    address: { family: 4, value: BigInt(bits >>> 0) },
    outerBits,
  }))
}

/** Like `embeddedIpv4`, for an IPv6 address in words, without the cost of BigInts. */
export function findEmbedded(words: Ipv6Words): readonly EmbeddedBits[] {
  for (const each of CARRIERS) {
    if (!startsLike(words, each)) continue
    return isBare(words) ? NOTHING_EMBEDDED : each.ways.map((way) => extract(way, words))
  }
  return NOTHING_EMBEDDED
}

function startsLike(words: Ipv6Words, { words: base, range: { prefix } }: Carrier): boolean {
  for (let word = 0; word * 32 < prefix; word += 1)
    if (((words[word]! ^ base[word]!) & maskOf(prefix - 32 * word)) !== 0) return false
  return true
}

/** `::` and `::1` are in the IPv4-compatible range but carry no IPv4 address. */
function isBare([first, second, third, last]: Ipv6Words): boolean {
  return first === 0 && second === 0 && third === 0 && (last === 0 || last === 1)
}

function extract(
  { start, split, isInverted, outerBits }: Embedding,
  words: Ipv6Words,
): EmbeddedBits {
  const head = sliceBits(words, start, split)
  const tail = split === 32 ? 0 : sliceBits(words, start + split + U_OCTET_BITS, 32 - split)
  const bits = split === 32 ? head : (head << (32 - split)) | tail
  return { bits: isInverted ? ~bits : bits | 0, outerBits }
}
