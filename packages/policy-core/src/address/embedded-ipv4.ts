import { parseIpv6, type IpAddress } from './ip-address.ts'
import { rangeContains, type IpRange } from './ip-range.ts'

/**
 * One way in which an IPv6 address carries an IPv4 address. Gateways and kernels unwrap them, so a
 * deny of 10.0.0.0/8 that looked at the outer address alone could be walked around.
 */
interface Embedding {
  readonly range: IpRange
  /** Reads the 32 bits out of the 128. */
  readonly extract: (value: bigint) => bigint
  /** How many leading bits of the outer address fix the first `bits` bits of the inner one. */
  readonly outerBits: (bits: number) => number
}

/** An IPv4 address found inside an IPv6 one, and how deep its bits lie. */
export interface EmbeddedIpv4 {
  readonly address: IpAddress
  readonly outerBits: Embedding['outerBits']
}

/** The 32 bits that end `end` bits before the last one. */
const bitsAt =
  (end: number) =>
  (value: bigint): bigint =>
    (value >> BigInt(end)) & 0xffffffffn

const behind =
  (start: number) =>
  (bits: number): number =>
    start + bits

/**
 * RFC 6052 §2.2: the IPv4 bits start after the prefix and skip bits 64 to 71, which are the "u"
 * octet. `split` is how many of them stand before it.
 */
function rfc6052(range: IpRange, split: number): Embedding {
  const start = 64 - split
  return {
    range,
    extract: (value) => {
      const head = (value >> 64n) & ((1n << BigInt(split)) - 1n)
      const rest = 32 - split
      const tail = (value >> BigInt(56 - rest)) & ((1n << BigInt(rest)) - 1n)
      return (head << BigInt(rest)) | tail
    },
    outerBits: (bits) => (bits <= split ? start + bits : start + bits + 8),
  }
}

function ipv6Range(base: string, prefix: number): IpRange {
  return { family: 6, base: parseIpv6(base) ?? 0n, prefix }
}

const LOCAL_NAT64 = ipv6Range('64:ff9b:1::', 48)
const TEREDO = ipv6Range('2001::', 32)

const EMBEDDINGS: readonly Embedding[] = [
  // IPv4-compatible, RFC 4291 §2.5.5.1
  { range: ipv6Range('::', 96), extract: bitsAt(0), outerBits: behind(96) },
  // IPv4-translated, RFC 2765 §2.1
  { range: ipv6Range('::ffff:0:0:0', 96), extract: bitsAt(0), outerBits: behind(96) },
  // NAT64 well-known prefix, RFC 6052 §2.1
  { range: ipv6Range('64:ff9b::', 96), extract: bitsAt(0), outerBits: behind(96) },
  // NAT64 local-use prefix, RFC 8215: its operator may split it at any length of RFC 6052
  rfc6052(LOCAL_NAT64, 16),
  rfc6052(LOCAL_NAT64, 8),
  rfc6052(LOCAL_NAT64, 0),
  { range: LOCAL_NAT64, extract: bitsAt(0), outerBits: behind(96) },
  // 6to4, RFC 3056 §2
  { range: ipv6Range('2002::', 16), extract: bitsAt(80), outerBits: behind(16) },
  // Teredo server, then client with every bit inverted, RFC 4380 §4
  { range: TEREDO, extract: bitsAt(64), outerBits: behind(32) },
  { range: TEREDO, extract: (value) => bitsAt(0)(value) ^ 0xffffffffn, outerBits: behind(96) },
]

/** Every IPv4 address inside an IPv6 address; none inside IPv4, `::` and `::1`. */
export function embeddedIpv4(address: IpAddress): readonly EmbeddedIpv4[] {
  if (address.family === 4 || address.value <= 1n) return []
  return EMBEDDINGS.filter((embedding) => rangeContains(embedding.range, address)).map(
    ({ extract, outerBits }) => ({
      address: { family: 4, value: extract(address.value) },
      outerBits,
    }),
  )
}
