import { isLocalhostName } from '../../host/host.ts'
import {
  createChainSets,
  NOTHING,
  type ChainSets,
  type ChainSetsBuilder,
  type PortGroups,
} from '../chain-sets.ts'
import { ExactNames } from './exact-names.ts'
import { NOT_PLAIN } from './name-scan.ts'
import { SuffixTable } from './suffix-table.ts'

/** The name patterns of one domain, by how many labels they ask for below it. */
export interface DomainPatterns {
  readonly domain: string
  readonly exact: PortGroups | null
  /** `*.`: one label. */
  readonly one: PortGroups | null
  /** `**.`: one or more labels. */
  readonly any: PortGroups | null
}

/** Finds what matches a name in time that depends on the name alone. */
export class NameIndex {
  readonly sets: ChainSets
  readonly #below: Wildcards
  readonly #names: ExactNames
  readonly #exactSets: Int32Array
  readonly #plainSets: Int32Array

  constructor(sets: ChainSets, below: Wildcards, exact: readonly string[], exactSets: Int32Array) {
    this.sets = sets
    this.#below = below
    this.#names = new ExactNames(exact)
    this.#exactSets = exactSets
    // `localhost` means an address as well, so it takes the careful way.
    this.#plainSets = exactSets.map((set, position) =>
      isLocalhostName(exact[position]!) ? NOT_PLAIN : set,
    )
  }

  /** The set for a text that is a canonical name at first sight, or `NOT_PLAIN`. */
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
 * An exact name has a set of its own; any other name is decided by the longest domain with a
 * wildcard that it lies below. So every set is made here, together with what the domains above
 * it say, and a lookup never looks further up.
 */
export function buildNameIndex(
  patterns: readonly DomainPatterns[],
  flagsOf: (group: number) => number,
): NameIndex {
  const builder = createChainSets(flagsOf)
  const below = buildWildcards(patterns, builder)
  const exact = patterns.filter((pattern) => pattern.exact !== null)
  const exactSets = Int32Array.from(exact, ({ domain, exact: groups }) =>
    grow(builder, below.findCanonical(domain), groups),
  )
  const names = exact.map(({ domain }) => domain)
  return new NameIndex(builder.finish(), below, names, exactSets)
}

/** The sets for names below domains with wildcards. */
class Wildcards {
  readonly #suffixes: SuffixTable
  /** By what the table finds. */
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

function buildWildcards(patterns: readonly DomainPatterns[], builder: ChainSetsBuilder): Wildcards {
  // Shorter domains first: what lies above a domain is made before it.
  const wild = patterns
    .filter(({ one, any }) => one !== null || any !== null)
    .toSorted((a, b) => a.domain.length - b.domain.length)
  const suffixes = new SuffixTable(wild.map(({ domain }) => domain))
  const sets = new Int32Array(wild.length * 2)
  for (let position = 0; position < wild.length; position += 1) {
    const { domain, one, any } = wild[position]!
    const above = suffixes.findCanonical(domain)
    // Whoever is below this domain is at least two labels below those above it.
    const deeper = grow(builder, above < 0 ? NOTHING : sets[above & ~1]!, any)
    sets[2 * position] = deeper
    sets[2 * position + 1] = grow(builder, deeper, one)
  }
  return new Wildcards(suffixes, sets)
}

function grow(builder: ChainSetsBuilder, parent: number, groups: PortGroups | null): number {
  return groups === null ? parent : builder.add(parent, groups)
}
