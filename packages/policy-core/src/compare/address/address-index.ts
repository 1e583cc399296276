import { FAMILY_BITS, type IpAddress } from '../../address/ip-address.ts'
import { firstAddress, keyOfBits, lastAddress, type IpRange } from '../../address/ip-range.ts'
import { createByPort, type ByPort } from '../by-port.ts'
import { chargeLookUp, type Meter } from '../meter.ts'
import type { Near } from '../space.ts'
import { carriedRange, embeddingGroups } from './embedding-bits.ts'
import type { AddressPattern } from './find-address.ts'
import { firstWhere } from './sorted-ranges.ts'

/** Entries of an index that take as long as a look-up of one prefix length. */
const STEPS_TO_PROBE = 8

interface Entry<T> {
  readonly range: IpRange
  readonly same: ByPort<T>
}

/** Finds patterns whose range has an address in common with a region's resource. */
export function indexAddresses<T extends { readonly pattern: AddressPattern }>(
  items: readonly T[],
): Near<AddressPattern, T> {
  const near4 = indexFamily(items, 4)
  const near6 = indexFamily(items, 6)
  return ({ resource: { range, port } }, meter) =>
    range.family === 4 ? near4(range, port, meter) : near6(range, port, meter)
}

/** The same for denies, which also match IPv4 addresses inside IPv6 ones. */
export function indexDeepAddresses<T extends { readonly pattern: AddressPattern }>(
  items: readonly T[],
): Near<AddressPattern, T> {
  const near4 = indexFamily(items, 4)
  const near6 = indexFamily(items, 6)
  const groups = embeddingGroups()
  return ({ resource: { range, port } }, meter) => {
    if (range.family === 4) return near4(range, port, meter)
    const near = new Set(near6(range, port, meter))
    for (const group of groups) {
      if (!meets(group.range, range)) continue
      for (const way of group.ways)
        for (const item of near4(carriedRange(group, way, range), port, meter)) near.add(item)
    }
    return [...near]
  }
}

/** Tells whether one of the ranges lies inside the other. */
export function meets(a: IpRange, b: IpRange): boolean {
  if (a.family !== b.family) return false
  const shared = BigInt(FAMILY_BITS[a.family] - Math.min(a.prefix, b.prefix))
  return a.base >> shared === b.base >> shared
}

/** O(prefix lengths in use + log of the ranges + what is found). */
function indexFamily<T extends { readonly pattern: AddressPattern }>(
  items: readonly T[],
  family: IpAddress['family'],
): (range: IpRange, port: number | null, meter: Meter) => readonly T[] {
  const prefixes = new Map<number, Map<string, ByPort<T>>>()
  const entries: Entry<T>[] = []
  for (const item of items) {
    const { range } = item.pattern
    if (range.family !== family) continue
    const bases = prefixes.get(range.prefix) ?? new Map<string, ByPort<T>>()
    prefixes.set(range.prefix, bases)
    const known = bases.get(keyOfBits(range.base))
    const same = known ?? createByPort<T>()
    same.add(item)
    if (known !== undefined) continue
    bases.set(keyOfBits(range.base), same)
    entries.push({ range, same })
  }
  entries.sort((a, b) => (a.range.base < b.range.base ? -1 : a.range.base > b.range.base ? 1 : 0))
  const baseAt = (place: number): bigint => entries[place]?.range.base ?? 0n
  return (range, port, meter) => {
    const first = firstAddress(range)
    const last = lastAddress(range)
    const near: T[] = []
    const add = (same: ByPort<T> | undefined): void => {
      for (const item of same?.on(port) ?? []) near.push(item)
    }
    for (const [prefix, bases] of prefixes) {
      if (prefix >= range.prefix) continue
      const hostBits = BigInt(FAMILY_BITS[family] - prefix)
      add(bases.get(keyOfBits((first >> hostBits) << hostBits)))
    }
    const start = firstWhere(0, entries.length, (place) => baseAt(place) >= first)
    for (let place = start; place < entries.length && baseAt(place) <= last; place += 1) {
      const entry = entries[place]
      if (entry !== undefined && entry.range.prefix >= range.prefix) add(entry.same)
    }
    return chargeLookUp(meter, STEPS_TO_PROBE * prefixes.size, near)
  }
}
