import { FAMILY_BITS, type IpRange } from '@palisade/policy-core/internal'
import { firstWhere } from '../../overlap/first-where.ts'

/**
 * Ranges of one family by first address, outer ranges first. Ranges that share their first bits are
 * adjacent, so a slice of the list serves as a node of a binary trie.
 */
export type SortedRanges = readonly IpRange[]

export function sortRanges(ranges: readonly IpRange[]): SortedRanges {
  return ranges.toSorted((a, b) =>
    a.base === b.base ? a.prefix - b.prefix : a.base < b.base ? -1 : 1,
  )
}

/** Index of the first range in the slice, which shares `depth` bits, whose next bit is one. */
export function splitAt(ranges: SortedRanges, [from, to]: Slice, depth: number): number {
  return firstWhere(from, to, (index) => bitOf(ranges[index], depth) === 1)
}

/** A part of a list: start index and exclusive end index. */
export type Slice = readonly [number, number]

function bitOf(range: IpRange | undefined, depth: number): number {
  if (range === undefined) return 1
  return Number((range.base >> BigInt(FAMILY_BITS[range.family] - 1 - depth)) & 1n)
}
