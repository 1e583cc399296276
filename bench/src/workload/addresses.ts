import { canonicalAddress } from '@palisade/policy-core'
import { drawResources, type Domain, type HostileKind, type Zone } from './domain.ts'
import type { Random } from './random.ts'

/** Nested ranges. Each zone is an IPv4 block of /16 (seven in ten) or an IPv6 block of /32. */
export const addresses: Domain = {
  name: 'addresses',
  action: 'connect:tcp',
  drawZone(random, index) {
    const block = blockOf(index, random.next() < 0.7)
    const root = formatAddress(block)
    const v6 = block.length === 8
    const resources = drawResources(random, 3 + random.integer(5), () => {
      const prefix = v6
        ? random.pick([32, 40, 48, 48, 48, 56, 64, 64, 128])
        : random.pick([16, 19, 20, 22, 22, 23, 24, 24, 24, 24, 28, 32])
      const inside = fillAfter(random, block, v6 ? 32 : 16)
      return `${formatAddress(clearAfter(inside, prefix))}/${prefix}`
    })
    return { root, resources }
  },
  drawRequest(random, zone) {
    const whole = readGroups(zone.root)
    if (random.next() < 0.3)
      return formatAddress(fillAfter(random, whole, whole.length === 8 ? 32 : 16))
    return instantiate(random, zone)
  },
  // No zone uses 224.0.0.0 or above, or 2600::/16.
  drawOutside: (random) => formatAddress(fillAfter(random, [0x2600, 0, 0, 0, 0, 0, 0, 0], 16)),
  drawInside: instantiate,
  hostile: hostileKinds(),
  requestFor: (host) => ({ action: 'connect:tcp', host, port: 443 }),
}

function hostileKinds(): readonly HostileKind[] {
  const isV4 = (address: string): boolean => address.includes('.')
  return [
    {
      name: 'mapped or upper case',
      weight: 3,
      make: (address) => (isV4(address) ? `::ffff:${address}` : address.toUpperCase()),
    },
    {
      name: 'NAT64 or zone',
      weight: 3,
      make: (address) => (isV4(address) ? `64:ff9b::${address}` : `${address}%eth0`),
    },
    {
      name: '6to4 or brackets',
      weight: 1,
      make: (address) => (isV4(address) ? `2002:${hexOf(address)}::1` : `[${address}]`),
    },
    { name: 'hexadecimal', weight: 1, make: () => '0x7f.1' },
    { name: 'one number', weight: 1, make: () => '2130706433' },
    { name: 'leading zero', weight: 1, make: (address) => `0${address}` },
    { name: 'full-width digits', weight: 1, make: () => '\uff11\uff10.0.0.1' },
    { name: 'too many groups', weight: 1, make: () => '1:'.repeat(60) },
    { name: 'too many numbers', weight: 1, make: () => '1.'.repeat(2000) },
    { name: 'two gaps', weight: 1, make: () => '::1::2' },
    { name: 'metadata address', weight: 1, make: () => '169.254.169.254' },
    { name: 'local NAT64', weight: 0, make: () => '64:ff9b:1:a0a:a:a0a:a0a:a0a' },
    { name: '64,000 characters', weight: 0, make: () => '1:'.repeat(32_000) },
  ]
}

/**
 * Returns a block that is unique for 50,000 zones, outside the protected and the embedding ranges.
 */
function blockOf(index: number, wantsV4: boolean): readonly number[] {
  const scattered = (index * 7919) % (223 * 256)
  const octets = [1 + (scattered >> 8), scattered & 255] as const
  const isSpecial = [127, 169, 168, 100].includes(octets[0])
  if (wantsV4 && !isSpecial) return [(octets[0] << 8) | octets[1], 0]
  return [0x2a02, index & 0xffff, 0, 0, 0, 0, 0, 0]
}

function instantiate(random: Random, zone: Zone): string {
  const [network = '', prefix = ''] = random.pick(zone.resources).pattern.split('/')
  return formatAddress(fillAfter(random, readGroups(network), Number(prefix)))
}

/** Formats an address given as 16-bit groups: two for IPv4, eight for IPv6. */
function formatAddress(groups: readonly number[]): string {
  const text =
    groups.length === 2
      ? groups.flatMap((group) => [group >> 8, group & 255]).join('.')
      : groups.map((group) => group.toString(16)).join(':')
  return canonicalAddress(text) ?? text
}

function readGroups(text: string): readonly number[] {
  if (!text.includes(':')) {
    const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
    return [(a << 8) | b, (c << 8) | d]
  }
  const [head = '', tail = ''] = text.split('::')
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const [before, after] = [read(head), read(tail)]
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
}

function fillAfter(random: Random, groups: readonly number[], prefix: number): number[] {
  return groups.map((group, index) => group | (random.integer(65_536) & freeBits(index, prefix)))
}

function clearAfter(groups: readonly number[], prefix: number): number[] {
  return groups.map((group, index) => group & ~freeBits(index, prefix))
}

/** The bits of one group that follow the prefix. */
function freeBits(index: number, prefix: number): number {
  const fixed = Math.min(16, Math.max(0, prefix - index * 16))
  return 0xffff >> fixed
}

function hexOf(address: string): string {
  return readGroups(address)
    .map((group) => group.toString(16))
    .join(':')
}
