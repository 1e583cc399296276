import * as fc from 'fast-check'
import { formatAddress, onlyAddress, type Address, type Range } from '../reference/address.ts'

/** Ordinary, private, protected and embedding addresses, few enough to collide. */
export function addresses(): fc.Arbitrary<Address> {
  return fc.oneof(
    { weight: 4, arbitrary: ipv4() },
    { weight: 2, arbitrary: ipv6() },
    {
      weight: 2,
      arbitrary: fc.tuple(ipv4(), embeddings()).map(([inner, how]) => embed(inner, how)),
    },
  )
}

/** A range around such an address, so that ranges of one family nest. */
export function ranges(): fc.Arbitrary<Range> {
  return fc
    .tuple(
      addresses(),
      fc.oneof(fc.constantFrom(0, 8, 16, 24, 31, 32, 48, 96, 104, 127), fc.nat(128)),
    )
    .map(([{ family, value }, wanted]) => {
      const bits = family === 4 ? 32 : 128
      const prefix = Math.min(wanted, bits)
      const hostBits = BigInt(bits - prefix)
      return { family, value: (value >> hostBits) << hostBits, prefix }
    })
}

/** An address or range as rules write it. */
export function addressPatterns(): fc.Arbitrary<string> {
  return fc.oneof(
    ranges().map((cidr) => `${formatAddress(cidr)}/${cidr.prefix}`),
    ranges()
      .filter(({ family }) => family === 4)
      .map((cidr) => `::ffff:${formatAddress(cidr)}/${cidr.prefix + 96}`),
    addresses().map(formatAddress),
    fc.tuple(addresses(), fc.constantFrom(80, 443)).map(([literal, port]) => {
      const text = formatAddress(literal)
      return literal.family === 4 ? `${text}:${port}` : `[${text}]:${port}`
    }),
  )
}

export const EMBEDDINGS = [
  'mapped',
  'compatible',
  'translated',
  'nat64',
  'nat64 /48',
  'nat64 /56',
  'nat64 /64',
  'nat64 /96',
  '6to4',
  'teredo server',
  'teredo client',
] as const
export type Embedding = (typeof EMBEDDINGS)[number]

export function embeddings(): fc.Arbitrary<Embedding> {
  return fc.constantFrom(...EMBEDDINGS)
}

/** Embeds `inner` in an IPv6 address. Returns an IPv6 `inner` unchanged. */
export function embed(inner: Address, how: Embedding): Address {
  if (inner.family === 6) return inner
  const v4 = inner.value
  // Filled with 10.10.10.10, so that the other positions of a NAT64 address are ordinary addresses.
  const local = 0x0064_ff9b_0001_0a0a_0a0a_0a0a_0a0a_0a0an
  const set = (base: bigint, from: number, length: number, bits: bigint) => {
    const shift = BigInt(128 - from - length)
    return (base & ~(((1n << BigInt(length)) - 1n) << shift)) | (bits << shift)
  }
  switch (how) {
    case 'mapped':
      return inner
    case 'compatible':
      return { family: 6, value: v4 }
    case 'translated':
      return { family: 6, value: (0xffff0000n << 32n) | v4 }
    case 'nat64':
      return { family: 6, value: (0x64ff9bn << 96n) | v4 }
    case 'nat64 /48':
      return { family: 6, value: set(set(local, 48, 16, v4 >> 16n), 72, 16, v4 & 0xffffn) }
    case 'nat64 /56':
      return { family: 6, value: set(set(local, 56, 8, v4 >> 24n), 72, 24, v4 & 0xffffffn) }
    case 'nat64 /64':
      return { family: 6, value: set(local, 72, 32, v4) }
    case 'nat64 /96':
      return { family: 6, value: set(local, 96, 32, v4) }
    case '6to4':
      return { family: 6, value: (0x2002n << 112n) | (v4 << 80n) | 1n }
    case 'teredo server':
      return { family: 6, value: (0x20010000n << 96n) | (v4 << 64n) | 0xf5f5f5f5n }
    case 'teredo client':
      return { family: 6, value: (0x20010000n << 96n) | (0x0a0a0a0an << 64n) | (v4 ^ 0xffffffffn) }
  }
}

/** Respells the address as a request's host; `variant` selects the spelling. */
export function respellAddress(literal: Address, variant: number): string {
  const text = formatAddress(literal)
  if (literal.family === 6) {
    return [text, text.toUpperCase(), uncompressed(literal)][variant % 3] ?? text
  }
  const [a = 0n, b = 0n, c = 0n, d = 0n] = text.split('.').map(BigInt)
  const spellings = [
    text,
    `${text}.`,
    `${literal.value}`,
    `0x${literal.value.toString(16)}`,
    `0${a.toString(8)}.${b}.${c}.${d}`,
    `${a}.${(b << 16n) | (c << 8n) | d}`,
    `${a}.0X${b.toString(16)}.${(c << 8n) | d}`,
    `::ffff:${text}`,
    text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  ]
  return spellings[variant % spellings.length] ?? text
}

/** The address of `range` with the host bits `bits`. */
export function addressIn(range: Range, bits: bigint): Address {
  const hostBits = BigInt(onlyAddress(range).prefix - range.prefix)
  return { family: range.family, value: range.value | (bits & ((1n << hostBits) - 1n)) }
}

function ipv4(): fc.Arbitrary<Address> {
  const octet = fc.constantFrom(0n, 1n, 2n, 7n, 127n, 128n, 254n, 255n)
  const first = fc.constantFrom(10n, 10n, 192n, 198n, 127n, 169n, 224n, 240n, 0n, 255n)
  const collides = fc
    .tuple(first, octet, octet, octet)
    .map(([a, b, c, d]) => (a << 24n) | (b << 16n) | (c << 8n) | d)
  const known = fc.constantFrom(0xa9fea9fen, 0x646464c8n, 0xa83f8110n, 0x7f000001n, 0xc6336407n)
  const anyOther = fc.bigInt({ min: 0n, max: 0xffffffffn })
  return fc
    .oneof(
      { weight: 3, arbitrary: collides },
      { weight: 1, arbitrary: known },
      { weight: 1, arbitrary: anyOther },
    )
    .map((value) => ({ family: 4, value }))
}

function ipv6(): fc.Arbitrary<Address> {
  const low = fc.oneof(fc.bigInt({ min: 0n, max: 7n }), fc.bigInt({ min: 0n, max: 1n << 64n }))
  const high = fc.constantFrom(
    0x2001_0db8n << 96n,
    0x2001_0db8_0001n << 80n,
    0xfe80n << 112n,
    0xff02n << 112n,
    0xfd00_0ec2n << 96n,
    0n,
  )
  return fc
    .tuple(high, low)
    .map(([head, tail]) => ({ family: 6 as const, value: head | tail }))
    .filter(({ value }) => value >> 32n !== 0xffffn)
}

function uncompressed({ value }: Address): string {
  return value.toString(16).padStart(32, '0').match(/.{4}/g)?.join(':') ?? ''
}
