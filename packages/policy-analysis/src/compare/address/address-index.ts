import { FAMILY_BITS, type IpRange } from '@palisade/policy-core/internal'
import { createRangeIndex } from '../../overlap/range-index.ts'
import { chargeLookUp, type Meter } from '../meter.ts'
import type { Near } from '../pattern-space.ts'
import { carriedRange, embeddingGroups } from './embedding-bits.ts'
import type { AddressPattern } from './find-address.ts'

/** Number of index entries that cost as much as a look-up of one prefix length. */
const STEPS_TO_PROBE = 8

/** Finds patterns whose range has an address in common with a region's resource. */
export function indexAddresses<T extends { readonly pattern: AddressPattern }>(
  items: readonly T[],
): Near<AddressPattern, T> {
  const near = indexRanges(items)
  return ({ resource: { range, port } }, meter) => near(range, port, meter)
}

/** Like `indexAddresses`, for denies: these also match IPv4 addresses inside IPv6 ones. */
export function indexDeepAddresses<T extends { readonly pattern: AddressPattern }>(
  items: readonly T[],
): Near<AddressPattern, T> {
  const near = indexRanges(items)
  const groups = embeddingGroups()
  return ({ resource: { range, port } }, meter) => {
    if (range.family === 4) return near(range, port, meter)
    const deep = new Set(near(range, port, meter))
    for (const group of groups) {
      if (!meets(group.range, range)) continue
      for (const way of group.ways)
        for (const item of near(carriedRange(group, way, range), port, meter)) deep.add(item)
    }
    return [...deep]
  }
}

/** Tells whether one of the ranges lies inside the other. */
export function meets(a: IpRange, b: IpRange): boolean {
  if (a.family !== b.family) return false
  const shared = BigInt(FAMILY_BITS[a.family] - Math.min(a.prefix, b.prefix))
  return a.base >> shared === b.base >> shared
}

/** O(prefix lengths in use + log of the ranges + results). */
function indexRanges<T extends { readonly pattern: AddressPattern }>(
  items: readonly T[],
): (range: IpRange, port: number | null, meter: Meter) => readonly T[] {
  const index = createRangeIndex<T>()
  for (const item of items) index.add(item, item.pattern.range, item.pattern.port)
  return (range, port, meter) => {
    const near: T[] = []
    for (const around of index.around(range)) {
      if (around.range.prefix === range.prefix) continue
      for (const item of around.items.on(port)) near.push(item)
    }
    for (const within of index.within(range))
      for (const item of within.items.on(port)) near.push(item)
    return chargeLookUp(meter, STEPS_TO_PROBE * index.prefixLengths(range.family), near)
  }
}
