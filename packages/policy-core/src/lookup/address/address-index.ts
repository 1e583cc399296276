import type { IpRange } from '../../address/ip-range.ts'
import {
  createChainSets,
  type ChainSets,
  type ChainSetsBuilder,
  type PortGroups,
} from '../chain-sets.ts'
import { createIpv4Search, createIpv6Search } from './interval-search.ts'
import { flattenRanges, type Intervals } from './intervals.ts'
import { sortRanges, type Width } from './sorted-ranges.ts'

/** A range and the resources that name it. */
export interface AddressPattern {
  readonly range: IpRange
  readonly groups: PortGroups
}

/** Finds what matches an address, however many ranges there are. */
export interface AddressIndex {
  readonly sets: ChainSets
  /** The number of the set for the 32 bits of an IPv4 address. */
  readonly ipv4: (bits: number) => number
  /** The number of the set for the four words of an IPv6 address that is not IPv4-mapped. */
  readonly ipv6: (words: Uint32Array) => number
  /**
   * How long the prefix of a range that holds the addresses of the set must be to lie inside all
   * protected classes that they belong to; 0 when they belong to none.
   */
  readonly openingPrefix: (set: number) => number
  /** The prefix length of the range that the group is about. */
  readonly prefixOf: (group: number) => number
}

/** Sets in the making, and by set the opening prefix. */
interface Draft {
  readonly sets: ChainSetsBuilder
  readonly openingPrefixes: number[]
}

/** The ranges of patterns are distinct, in any order. O(n log n) with n ranges; memory O(n). */
export function buildAddressIndex(
  patterns: readonly AddressPattern[],
  protectedClasses: readonly IpRange[],
  flagsOf: (group: number) => number,
): AddressIndex {
  const draft = { sets: createChainSets(flagsOf), openingPrefixes: [0] }
  const intervalsOf = (family: IpRange['family']): Intervals =>
    flattenFamily(
      patterns.filter(({ range }) => range.family === family),
      protectedClasses.filter((range) => range.family === family),
      family === 4 ? 1 : 4,
      draft,
    )
  const ipv4 = createIpv4Search(intervalsOf(4))
  const ipv6 = createIpv6Search(intervalsOf(6))
  return {
    sets: draft.sets.finish(),
    ipv4,
    ipv6,
    openingPrefix: reader(Uint8Array.from(draft.openingPrefixes)),
    prefixOf: reader(prefixesByGroup(patterns)),
  }
}

/** Classes come first, so that a range equal to a class is inside it. */
function flattenFamily(
  patterns: readonly AddressPattern[],
  classes: readonly IpRange[],
  width: Width,
  { sets, openingPrefixes }: Draft,
): Intervals {
  const ranges = [...classes, ...patterns.map(({ range }) => range)]
  return flattenRanges(sortRanges(ranges, width), (range, parent) => {
    const isClass = range < classes.length
    const set = isClass
      ? sets.enterClass(parent)
      : sets.add(parent, patterns[range - classes.length]!.groups)
    openingPrefixes[set] = isClass ? ranges[range]!.prefix : openingPrefixes[parent]!
    return set
  })
}

function prefixesByGroup(patterns: readonly AddressPattern[]): Uint8Array {
  const prefixes: number[] = []
  for (const { range, groups } of patterns) {
    if (groups.everyPort !== null) prefixes[groups.everyPort] = range.prefix
    for (const group of groups.byPort?.values() ?? []) prefixes[group] = range.prefix
  }
  return Uint8Array.from(prefixes)
}

/** Outside of the build: a closure made there would keep all that the build has read. */
function reader(values: Uint8Array): (at: number) => number {
  return (at) => values[at]!
}
