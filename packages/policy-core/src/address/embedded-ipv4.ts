import type { IpAddress } from './ip-address.ts'
import { rangeContains, type IpRange } from './ip-range.ts'

/**
 * One way in which an IPv6 address carries an IPv4 address. Gateways and kernels unwrap them, so a
 * deny of 10.0.0.0/8 that looked at the outer address alone could be walked around.
 */
export interface Embedding {
  readonly range: IpRange
  /** The bit of the outer address, counted from the left, at which the inner one starts. */
  readonly start: number
  /** How many inner bits stand there; the others stand behind the "u" octet. */
  readonly split: number
  readonly isInverted: boolean
  /** Reads the 32 bits out of the 128. */
  readonly extract: (outer: bigint) => bigint
  /** How many leading bits of the outer address fix the first `bits` bits of the inner one. */
  readonly outerBits: (bits: number) => number
}

/** An IPv4 address found inside an IPv6 one, and how deep its bits lie. */
export interface EmbeddedIpv4 {
  readonly address: IpAddress
  readonly outerBits: Embedding['outerBits']
}

/** RFC 6052 §2.2: bits 64 to 71 are never part of the inner address. */
export const U_OCTET_BITS = 8

function embedding(range: IpRange, start: number, split = 32, isInverted = false): Embedding {
  const behind = start + split + U_OCTET_BITS
  return {
    range,
    start,
    split,
    isInverted,
    extract(outer) {
      const head = bitsAt(outer, start, split)
      const tail = split === 32 ? 0n : bitsAt(outer, behind, 32 - split)
      const inner = (head << BigInt(32 - split)) | tail
      return isInverted ? inner ^ 0xffff_ffffn : inner
    },
    outerBits: (bits) => (bits <= split ? start + bits : start + bits + U_OCTET_BITS),
  }
}

function bitsAt(value: bigint, start: number, count: number): bigint {
  return (value >> BigInt(128 - start - count)) & ((1n << BigInt(count)) - 1n)
}

const COMPATIBLE: IpRange = { family: 6, base: 0n, prefix: 96 }
const TRANSLATED: IpRange = { family: 6, base: 0xffff_0000n << 32n, prefix: 96 }
const NAT64: IpRange = { family: 6, base: 0x0064_ff9bn << 96n, prefix: 96 }
const LOCAL_NAT64: IpRange = { family: 6, base: 0x0064_ff9b_0001n << 80n, prefix: 48 }
const SIX_TO_FOUR: IpRange = { family: 6, base: 0x2002n << 112n, prefix: 16 }
const TEREDO: IpRange = { family: 6, base: 0x2001_0000n << 96n, prefix: 32 }

export const EMBEDDINGS: readonly Embedding[] = [
  // IPv4-compatible, RFC 4291 §2.5.5.1
  embedding(COMPATIBLE, 96),
  // IPv4-translated, RFC 2765 §2.1
  embedding(TRANSLATED, 96),
  // NAT64 well-known prefix, RFC 6052 §2.1
  embedding(NAT64, 96),
  // NAT64 local-use prefix, RFC 8215: its operator may split it at any length of RFC 6052
  embedding(LOCAL_NAT64, 48, 16),
  embedding(LOCAL_NAT64, 56, 8),
  embedding(LOCAL_NAT64, 72),
  embedding(LOCAL_NAT64, 96),
  // 6to4, RFC 3056 §2
  embedding(SIX_TO_FOUR, 16),
  // Teredo server, then client with every bit inverted, RFC 4380 §4
  embedding(TEREDO, 32),
  embedding(TEREDO, 96, 32, true),
]

/** Every IPv4 address inside an IPv6 address; none inside IPv4, `::` and `::1`. */
export function embeddedIpv4(address: IpAddress): readonly EmbeddedIpv4[] {
  if (address.family === 4 || address.value <= 1n) return []
  return EMBEDDINGS.filter(({ range }) => rangeContains(range, address)).map(
    ({ extract, outerBits }) => ({
      address: { family: 4, value: extract(address.value) },
      outerBits,
    }),
  )
}
