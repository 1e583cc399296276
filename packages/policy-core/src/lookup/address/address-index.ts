import type { IpRange } from '../../address/ip-range.ts'
import type { Ipv6Words } from '../../address/ipv6-words.ts'
import { ITEMS_A_STEP, runSteps, type Steps } from '../../steps.ts'
import {
  createChainSets,
  type ChainSets,
  type ChainSetsBuilder,
  type PortGroups,
} from '../chain-sets.ts'
import { Ipv4Search, Ipv6Search } from './interval-search.ts'
import { flattenRanges, type Intervals } from './intervals.ts'
import { sortRanges, type Width } from './sorted-ranges.ts'

/** A range and the groups of its resources. */
export interface AddressPattern {
  readonly range: IpRange
  readonly groups: PortGroups
}

/** Columns of an index, which hold no references to the input of its construction. */
interface Parts {
  readonly sets: ChainSets
  readonly ipv4: Ipv4Search
  readonly ipv6: Ipv6Search
  readonly openingPrefixes: Uint8Array
  readonly prefixes: Uint8Array
}

/** Finds the set of an address in time independent of the number of ranges. */
export interface AddressIndex {
  readonly sets: ChainSets
  /** The number of the set for the 32 bits of an IPv4 address, signed or not. */
  ipv4(bits: number): number
  /** The number of the set for an IPv6 address that is not IPv4-mapped. */
  ipv6(words: Ipv6Words): number
  /**
   * The least prefix length of a range around the addresses of the set that lies inside all of
   * their protected classes; 0 without such classes.
   */
  openingPrefix(set: number): number
  /** The prefix length of the group's range. */
  prefixOf(group: number): number
}

class BuiltAddressIndex implements AddressIndex {
  readonly sets: ChainSets
  readonly #ipv4: Ipv4Search
  readonly #ipv6: Ipv6Search
  readonly #openingPrefixes: Uint8Array
  readonly #prefixes: Uint8Array

  constructor({ sets, ipv4, ipv6, openingPrefixes, prefixes }: Parts) {
    this.sets = sets
    this.#ipv4 = ipv4
    this.#ipv6 = ipv6
    this.#openingPrefixes = openingPrefixes
    this.#prefixes = prefixes
  }

  ipv4(bits: number): number {
    return this.#ipv4.find(bits)
  }

  ipv6(words: Ipv6Words): number {
    return this.#ipv6.find(words)
  }

  openingPrefix(set: number): number {
    return this.#openingPrefixes[set]!
  }

  prefixOf(group: number): number {
    return this.#prefixes[group]!
  }
}

/**
 * Builds the index at first use. Without ranges it holds only the protected classes, and many
 * policies never decide an address, so building it early would slow down small compilations.
 * bench: decide/compile
 */
class LazyAddressIndex implements AddressIndex {
  readonly #build: () => AddressIndex
  #index: AddressIndex | null = null

  constructor(build: () => AddressIndex) {
    this.#build = build
  }

  get sets(): ChainSets {
    return this.#built().sets
  }

  ipv4(bits: number): number {
    return this.#built().ipv4(bits)
  }

  ipv6(words: Ipv6Words): number {
    return this.#built().ipv6(words)
  }

  openingPrefix(set: number): number {
    return this.#built().openingPrefix(set)
  }

  prefixOf(group: number): number {
    return this.#built().prefixOf(group)
  }

  #built(): AddressIndex {
    return (this.#index ??= this.#build())
  }
}

/** Sets under construction, with the opening prefix of each. */
interface Draft {
  readonly sets: ChainSetsBuilder
  readonly openingPrefixes: number[]
}

/** The ranges of patterns are distinct, in any order. O(n log n) with n ranges; memory O(n). */
export function* buildAddressIndex(
  patterns: readonly AddressPattern[],
  protectedClasses: readonly IpRange[],
  flagsOf: (group: number) => number,
): Steps<AddressIndex> {
  const build = (): Steps<AddressIndex> => buildNow(patterns, protectedClasses, flagsOf)
  if (patterns.length > 0) return yield* build()
  return new LazyAddressIndex(() => runSteps(build()))
}

function* buildNow(
  patterns: readonly AddressPattern[],
  protectedClasses: readonly IpRange[],
  flagsOf: (group: number) => number,
): Steps<AddressIndex> {
  const draft = { sets: createChainSets(flagsOf), openingPrefixes: [0] }
  const intervalsOf = (family: IpRange['family']): Steps<Intervals> =>
    flattenFamily(
      patterns.filter(({ range }) => range.family === family),
      protectedClasses.filter((range) => range.family === family),
      family === 4 ? 1 : 4,
      draft,
    )
  const [intervals4, intervals6] = [yield* intervalsOf(4), yield* intervalsOf(6)]
  yield
  const ipv4 = new Ipv4Search(intervals4)
  yield
  const ipv6 = new Ipv6Search(intervals6)
  const prefixes = yield* prefixesByGroup(patterns)
  yield
  const openingPrefixes = Uint8Array.from(draft.openingPrefixes)
  return new BuiltAddressIndex({ sets: draft.sets.finish(), ipv4, ipv6, openingPrefixes, prefixes })
}

/** Classes come first, so that a range equal to a class is inside it. */
function* flattenFamily(
  patterns: readonly AddressPattern[],
  classes: readonly IpRange[],
  width: Width,
  { sets, openingPrefixes }: Draft,
): Steps<Intervals> {
  const ranges = classes.concat(patterns.map(({ range }) => range))
  const sorted = sortRanges(ranges, width)
  yield
  return yield* flattenRanges(sorted, (range, parent) => {
    const isClass = range < classes.length
    const set = isClass
      ? sets.enterClass(parent)
      : sets.add(parent, patterns[range - classes.length]!.groups)
    openingPrefixes[set] = isClass ? ranges[range]!.prefix : openingPrefixes[parent]!
    return set
  })
}

function* prefixesByGroup(patterns: readonly AddressPattern[]): Steps<Uint8Array> {
  const prefixes: number[] = []
  for (let index = 0; index < patterns.length; index += 1) {
    if (index % ITEMS_A_STEP === 0) yield
    const { range, groups } = patterns[index]!
    if (groups.everyPort !== null) prefixes[groups.everyPort] = range.prefix
    if (groups.byPort === null) continue
    for (const group of groups.byPort.values()) prefixes[group] = range.prefix
  }
  return Uint8Array.from(prefixes)
}
