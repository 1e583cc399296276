import {
  FAMILY_BITS,
  firstAddress,
  keyOfBits,
  lastAddress,
  type IpRange,
} from '@palisade/policy-core/internal'
import { createByPort, type ByPort } from './by-port.ts'
import { firstWhere } from './first-where.ts'

/** A range that some pattern is about. */
export interface IndexedRange<T> {
  readonly range: IpRange
  readonly items: ByPort<T>
}

/** Finds ranges that one has addresses in common with: of two, one lies inside the other. */
export interface RangeIndex<T> {
  readonly add: (item: T, range: IpRange, port: number | null) => void
  /** The range itself and those around it. O(prefix lengths in use). */
  readonly around: (range: IpRange) => Iterable<IndexedRange<T>>
  /** The range itself and those inside it. O(log of the ranges + ranges inside). */
  readonly within: (range: IpRange) => Iterable<IndexedRange<T>>
  /** How many prefix lengths of a family are in use. */
  readonly prefixLengths: (family: IpRange['family']) => number
}

/** Ranges of one family by prefix length, then by their first bits as `keyOfBits` writes them. */
type Levels<T> = Map<number, Map<string, IndexedRange<T>>>

export function createRangeIndex<T>(): RangeIndex<T> {
  const levels: Readonly<Record<IpRange['family'], Levels<T>>> = { 4: new Map(), 6: new Map() }
  const sorted = new Map<IpRange['family'], readonly IndexedRange<T>[]>()
  return {
    add(item, range, port) {
      const level = levels[range.family].get(range.prefix) ?? new Map<string, IndexedRange<T>>()
      levels[range.family].set(range.prefix, level)
      const key = firstBits(range, range.prefix)
      let known = level.get(key)
      if (known === undefined) {
        level.set(key, (known = { range, items: createByPort() }))
        sorted.delete(range.family)
      }
      known.items.add(item, port)
    },
    *around(range) {
      for (const [prefix, level] of levels[range.family]) {
        const known = prefix <= range.prefix ? level.get(firstBits(range, prefix)) : undefined
        if (known !== undefined) yield known
      }
    },
    *within(range) {
      const all = sorted.get(range.family) ?? sortByBase(levels[range.family])
      sorted.set(range.family, all)
      const [first, last] = [firstAddress(range), lastAddress(range)]
      const start = firstWhere(0, all.length, (index) => all[index]!.range.base >= first)
      for (let index = start; index < all.length; index += 1) {
        const entry = all[index]!
        if (entry.range.base > last) return
        if (entry.range.prefix >= range.prefix) yield entry
      }
    },
    prefixLengths: (family) => levels[family].size,
  }
}

function sortByBase<T>(levels: Levels<T>): readonly IndexedRange<T>[] {
  return [...levels.values()]
    .flatMap((level) => [...level.values()])
    .toSorted(({ range: a }, { range: b }) =>
      a.base === b.base ? a.prefix - b.prefix : a.base < b.base ? -1 : 1,
    )
}

function firstBits({ family, base }: IpRange, prefix: number): string {
  return keyOfBits(base >> BigInt(FAMILY_BITS[family] - prefix))
}
