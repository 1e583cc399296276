import type { Random } from '../../../bench/src/workload/random.ts'
import { embed, EMBEDDINGS, respellAddress } from '../../policy-core/arbitraries/address.ts'
import { formatAddress, type Address } from '../../policy-core/reference/address.ts'
import { connectRules, drawMany, type Draft, type Family } from '../family.ts'
import { respellAddressText } from '../spellings.ts'

/** Ranges of every length around one address, each inside the previous one. */
const nestedRanges: Family = {
  name: 'nested ranges',
  maxResources: 2000,
  draw(random, count) {
    const centre = drawAddress(random)
    const near = (): Address => flip(random, centre, random.integer(bitsOf(centre)))
    return around(random, count, near, () => random.integer(bitsOf(centre) + 1))
  },
}

/** Adjacent ranges of one to eight addresses, so that their borders meet. */
const neighbours: Family = {
  name: 'neighbours',
  maxResources: 50_000,
  draw(random, count) {
    const start = drawAddress(random)
    const near = (): Address => plus(start, BigInt(random.integer(2 * count + 8)))
    return around(random, count, near, () => bitsOf(start) - random.integer(4))
  },
}

/** IPv4 ranges, and IPv6 ranges that contain addresses with embedded IPv4 ones. */
const embedded: Family = {
  name: 'embedded addresses',
  maxResources: 20_000,
  draw(random, count) {
    const inner = (): Address => ({ family: 4, value: 0x0a000000n | BigInt(random.integer(4096)) })
    const near = (): Address =>
      random.next() < 0.4 ? inner() : embed(inner(), random.pick(EMBEDDINGS))
    return around(random, count, near, (bits) => bits - random.integer(bits === 32 ? 24 : 100))
  },
}

/** Ranges at the protected classes: as wide, wider, narrower, and the machine's own addresses. */
const protectedClasses: Family = {
  name: 'protected classes',
  maxResources: 20_000,
  draw(random, count) {
    const centres = PROTECTED.map(([family, value]): Address => ({ family, value }))
    const near = (): Address => {
      const centre = random.pick(centres)
      const outer = random.next() < 0.2 ? embed(centre, random.pick(EMBEDDINGS)) : centre
      return flip(random, outer, random.integer(bitsOf(outer)))
    }
    const draft = around(random, count, near, (bits) => random.integer(bits + 1))
    const machine = drawMany(3, near).map((address) => formatAddress(address))
    return { ...draft, settings: { machine_addresses: machine } }
  },
}

/** Many ports of a few addresses, inside ranges without a port. */
const addressPorts: Family = {
  name: 'ports of addresses',
  maxResources: 20_000,
  draw(random, count) {
    const few = ['192.0.2.7', '[2001:db8::1]', '10.0.0.1', '[64:ff9b::c000:207]']
    const span = Math.min(65_535, Math.max(4, count))
    const port = (): number => 1 + random.integer(span)
    const pattern = (): string => `${random.pick(few)}:${port()}`
    const wide = ['192.0.2.0/24', '2001:db8::/32', '0.0.0.0/0', '::/0']
    return {
      rules: connectRules(random, [...drawMany(count - 1, pattern), random.pick(wide)]),
      ask: () => ({
        action: random.pick(['connect:tcp', 'connect:udp']),
        host: random.pick(few).replaceAll(/[[\]]/g, ''),
        port: port(),
      }),
    }
  },
}

export const ADDRESS_FAMILIES: readonly Family[] = [
  nestedRanges,
  neighbours,
  embedded,
  protectedClasses,
  addressPorts,
]

const PROTECTED: readonly (readonly [Address['family'], bigint])[] = [
  [4, 0n],
  [4, 0x7f000001n],
  [4, 0xa9fea9fen],
  [4, 0xe0000001n],
  [4, 0xffffffffn],
  [4, 0x646464c8n],
  [4, 0xa83f8110n],
  [6, 0n],
  [6, 1n],
  [6, 0xfe80n << 112n],
  [6, 0xff02n << 112n],
  [6, (0xfd000ec2n << 96n) | 0x254n],
]

/** Ranges around `near` addresses, and requests for such addresses in all spellings. */
function around(
  random: Random,
  count: number,
  near: () => Address,
  prefixFor: (bits: number) => number,
): Draft {
  const pattern = (): string => {
    const address = near()
    const bits = bitsOf(address)
    const free = BigInt(bits - Math.max(0, Math.min(bits, prefixFor(bits))))
    const base = { ...address, value: (address.value >> free) << free }
    return `${formatAddress(unmapped(base))}/${bits - Number(free)}`
  }
  return { rules: connectRules(random, drawMany(count, pattern)), ask: () => ask(random, near()) }
}

function ask(random: Random, address: Address): object {
  const host = respellAddressText(random, respellAddress(address, random.integer(18)))
  const named = { host: random.pick(['a.example', 'localhost']), address: formatAddress(address) }
  return {
    action: random.pick(['connect:tcp', 'connect:tcp', 'connect:udp']),
    port: random.pick([443, 80]),
    ...(random.next() < 0.25 ? named : { host }),
  }
}

function drawAddress(random: Random): Address {
  const group = (): bigint => BigInt(random.integer(65_536))
  if (random.next() < 0.5) return { family: 4, value: 0x0a000000n | (group() << 8n) }
  return { family: 6, value: (0x2001_0db8n << 96n) | (group() << 80n) | (group() << 16n) }
}

function flip(random: Random, address: Address, bit: number): Address {
  const flipped = random.next() < 0.7 ? address.value ^ (1n << BigInt(bit)) : address.value
  return unmapped({ ...address, value: flipped })
}

function plus(address: Address, by: bigint): Address {
  return { ...address, value: (address.value + by) & ((1n << BigInt(bitsOf(address))) - 1n) }
}

/** Converts an IPv4-mapped address to the IPv4 address, which is its canonical form. */
function unmapped(address: Address): Address {
  return address.family === 6 && address.value >> 32n === 0xffffn
    ? { family: 4, value: address.value & 0xffffffffn }
    : address
}

function bitsOf({ family }: Address): 32 | 128 {
  return family === 4 ? 32 : 128
}
