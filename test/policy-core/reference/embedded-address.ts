import { covers, readRange, type Address } from './address.ts'

export interface EmbeddedAddress {
  readonly address: Address
  /** Positions of its 32 bits in the outer address, counted from the left. */
  readonly bits: readonly number[]
}

/** Returns the IPv4 addresses that an IPv6 address embeds. Only denies apply to them. */
export function embeddedAddresses(outer: Address): EmbeddedAddress[] {
  const isIn = (range: string) => covers(readRange(range)!, outer)
  const at = (bits: readonly number[], inverted = 0n) => ({
    address: { family: 4 as const, value: readBits(outer, bits) ^ inverted },
    bits,
  })

  if (isIn('::/127')) return []
  // IPv4-compatible, IPv4-translated, NAT64 well-known prefix
  if (isIn('::/96') || isIn('::ffff:0:0:0/96') || isIn('64:ff9b::/96')) return [at(run(96, 32))]
  if (isIn('64:ff9b:1::/48')) {
    // RFC 6052 §2.2: bits 64 to 71 are never part of the address
    return [
      at([...run(48, 16), ...run(72, 16)]),
      at([...run(56, 8), ...run(72, 24)]),
      at(run(72, 32)),
      at(run(96, 32)),
    ]
  }
  if (isIn('2002::/16')) return [at(run(16, 32))]
  // Teredo, RFC 4380 §4: server, then client with every bit inverted
  if (isIn('2001::/32')) return [at(run(32, 32)), at(run(96, 32), 0xffffffffn)]
  return []
}

function run(from: number, length: number): number[] {
  return Array.from({ length }, (_, index) => from + index)
}

function readBits({ value }: Address, bits: readonly number[]): bigint {
  return bits.reduce((read, bit) => (read << 1n) | ((value >> BigInt(127 - bit)) & 1n), 0n)
}
