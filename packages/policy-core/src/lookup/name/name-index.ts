import { isLocalhostName } from '../../host/host.ts'
import { ITEMS_A_STEP, type Steps } from '../../steps.ts'
import {
  createChainSets,
  NOTHING,
  type ChainSets,
  type ChainSetsBuilder,
  type PortGroups,
} from '../chain-sets.ts'
import { buildExactNames, type ExactNames } from './exact-names.ts'
import { NOT_PLAIN } from './name-scan.ts'
import { buildSuffixTable, type SuffixTable } from './suffix-table.ts'

/** The name patterns of one domain, by the number of labels below it. */
export interface DomainPatterns {
  readonly domain: string
  readonly exact: PortGroups | null
  /** `*.`: one label. */
  readonly one: PortGroups | null
  /** `**.`: one or more labels. */
  readonly any: PortGroups | null
}

/** Maximum number of labels to cut off during compilation before reading by characters. */
const MAX_CUTS = 8
/** Longer names have long domains above them, and hashing each is slower than one pass. */
const MAX_CUT_LENGTH = 80

/** Names without a wildcard, and by position the set of each. */
interface Exact {
  readonly names: ExactNames
  readonly exactSets: Int32Array
  /** `NOT_PLAIN` instead of the set where the name means an address as well. */
  readonly plainSets: Int32Array
}

/** Finds the set of a name in time that depends on the name alone. */
export class NameIndex {
  readonly sets: ChainSets
  readonly #below: Wildcards
  readonly #names: ExactNames
  readonly #exactSets: Int32Array
  readonly #plainSets: Int32Array

  constructor(sets: ChainSets, below: Wildcards, { names, exactSets, plainSets }: Exact) {
    this.sets = sets
    this.#below = below
    this.#names = names
    this.#exactSets = exactSets
    this.#plainSets = plainSets
  }

  /** The set for a plainly canonical name, or `NOT_PLAIN`. */
  find(text: string): number {
    const position = this.#names.find(text)
    return position >= 0 ? this.#plainSets[position]! : this.#below.find(text)
  }

  /** The set for a canonical name. */
  findCanonical(name: string): number {
    const position = this.#names.find(name)
    return position >= 0 ? this.#exactSets[position]! : this.#below.findCanonical(name)
  }
}

/**
 * An exact name has a set of its own. The longest domain with a wildcard above any other name
 * decides. Every set includes the groups of the domains above it, so a lookup stops at the first
 * domain.
 */
export function* buildNameIndex(
  patterns: readonly DomainPatterns[],
  flagsOf: (group: number) => number,
): Steps<NameIndex> {
  const builder = createChainSets(flagsOf)
  const { below, above } = yield* buildWildcards(patterns, builder)
  const exact = patterns.filter((pattern) => pattern.exact !== null)
  const exactSets = new Int32Array(exact.length)
  const plainSets = new Int32Array(exact.length)
  const texts: string[] = []
  for (let position = 0; position < exact.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    const { domain, exact: groups } = exact[position]!
    const set = grow(builder, above(domain), groups)
    exactSets[position] = set
    // `localhost` also means an address, so it falls through to the thorough evaluation.
    plainSets[position] = isLocalhostName(domain) ? NOT_PLAIN : set
    texts.push(domain)
  }
  const names = yield* buildExactNames(texts)
  yield
  return new NameIndex(builder.finish(), below, { names, exactSets, plainSets })
}

/** The sets for names below domains with wildcards. */
class Wildcards {
  readonly #suffixes: SuffixTable
  /** Sets by result of the table. */
  readonly #sets: Int32Array

  constructor(suffixes: SuffixTable, sets: Int32Array) {
    this.#suffixes = suffixes
    this.#sets = sets
  }

  find(text: string): number {
    const found = this.#suffixes.find(text)
    return found >= 0 ? this.#sets[found]! : found === NOT_PLAIN ? NOT_PLAIN : NOTHING
  }

  findCanonical(name: string): number {
    const found = this.#suffixes.findCanonical(name)
    return found < 0 ? NOTHING : this.#sets[found]!
  }
}

interface BuiltWildcards {
  readonly below: Wildcards
  /** Equivalent to `below.findCanonical`. */
  readonly above: (name: string) => number
}

function* buildWildcards(
  patterns: readonly DomainPatterns[],
  builder: ChainSetsBuilder,
): Steps<BuiltWildcards> {
  // Shorter domains first, so that the sets above a domain exist before its own.
  const wild = patterns
    .filter(({ one, any }) => one !== null || any !== null)
    .toSorted((a, b) => a.domain.length - b.domain.length)
  yield
  const suffixes = yield* buildSuffixTable(wild.map(({ domain }) => domain))
  const positions = new Map<string, number>()
  for (let position = 0; position < wild.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    positions.set(wild[position]!.domain, position)
  }
  const sets = new Int32Array(wild.length * 2)
  for (let position = 0; position < wild.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    const { domain, one, any } = wild[position]!
    const above = findAbove(positions, suffixes, domain)
    // A name below this domain is at least two labels below the domains above it.
    const deeper = grow(builder, above < 0 ? NOTHING : sets[above & ~1]!, any)
    sets[2 * position] = deeper
    sets[2 * position + 1] = grow(builder, deeper, one)
  }
  return {
    below: new Wildcards(suffixes, sets),
    above(name) {
      const found = findAbove(positions, suffixes, name)
      return found < 0 ? NOTHING : sets[found]!
    },
  }
}

/**
 * Finds the result of the table for a canonical name. A first compilation runs uncompiled code, in
 * which a `Map` is faster than reading characters. For many labels one pass over the name is still
 * faster. bench: compile
 */
function findAbove(
  positions: ReadonlyMap<string, number>,
  suffixes: SuffixTable,
  name: string,
): number {
  if (name.length > MAX_CUT_LENGTH) return suffixes.findCanonical(name)
  let dot = -1
  for (let labels = 1; labels <= MAX_CUTS; labels += 1) {
    dot = name.indexOf('.', dot + 1)
    if (dot < 0) return -1
    const position = positions.get(name.slice(dot + 1))
    if (position !== undefined) return 2 * position + (labels === 1 ? 1 : 0)
  }
  return suffixes.findCanonical(name)
}

function grow(builder: ChainSetsBuilder, parent: number, groups: PortGroups | null): number {
  return groups === null ? parent : builder.add(parent, groups)
}
