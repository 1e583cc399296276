import { FAMILY_BITS } from '../../address/ip-address.ts'
import type { IpRange } from '../../address/ip-range.ts'
import { firstWhere } from '../../overlap/first-where.ts'

/**
 * Ranges of one family by first address, outer ones first. Those that share their first bits stand
 * side by side, so a part of the list serves as a node of their binary trie.
 */
export type SortedRanges = readonly IpRange[]

export function sortRanges(ranges: readonly IpRange[]): SortedRanges {
  return ranges.toSorted((a, b) =>
    a.base === b.base ? a.prefix - b.prefix : a.base < b.base ? -1 : 1,
  )
}

/** Where in `from` to `to`, which share `depth` bits, those begin whose next bit is one. */
export function splitAt(ranges: SortedRanges, [from, to]: Slice, depth: number): number {
  return firstWhere(from, to, (place) => bitOf(ranges[place], depth) === 1)
}

/** A part of a list: the first place and the one behind the last. */
export type Slice = readonly [number, number]

function bitOf(range: IpRange | undefined, depth: number): number {
  if (range === undefined) return 1
  return Number((range.base >> BigInt(FAMILY_BITS[range.family] - 1 - depth)) & 1n)
}
