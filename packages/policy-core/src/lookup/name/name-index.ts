import { isLocalhostName } from '../../host/host.ts'
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
export interface NameIndex {
  readonly sets: ChainSets
  /** The set for a text that is a canonical name at first sight, or `NOT_PLAIN`. */
  readonly find: (text: string) => number
  /** The set for a canonical name. */
  readonly findCanonical: (name: string) => number
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
  // `localhost` means an address as well, so it takes the careful way.
  const plainSets = exactSets.map((set, position) =>
    isLocalhostName(exact[position]!.domain) ? NOT_PLAIN : set,
  )
  const names = buildExactNames(exact.map(({ domain }) => domain))
  return createIndex(builder.finish(), below, { names, exactSets, plainSets })
}

/** On its own, so that a compiled policy holds on to nothing that only building needs. */
function createIndex(
  sets: ChainSets,
  below: Wildcards,
  { names, exactSets, plainSets }: Exact,
): NameIndex {
  return {
    sets,
    find(text) {
      const position = names.find(text)
      return position >= 0 ? plainSets[position]! : below.find(text)
    },
    findCanonical(name) {
      const position = names.find(name)
      return position >= 0 ? exactSets[position]! : below.findCanonical(name)
    },
  }
}

interface Exact {
  readonly names: ExactNames
  readonly exactSets: Int32Array
  readonly plainSets: Int32Array
}

/** The sets for names below domains with wildcards. */
type Wildcards = Pick<NameIndex, 'find' | 'findCanonical'>

function buildWildcards(patterns: readonly DomainPatterns[], builder: ChainSetsBuilder): Wildcards {
  // Shorter domains first: what lies above a domain is made before it.
  const wild = patterns
    .filter(({ one, any }) => one !== null || any !== null)
    .toSorted((a, b) => a.domain.length - b.domain.length)
  const suffixes = buildSuffixTable(wild.map(({ domain }) => domain))
  const sets = new Int32Array(wild.length * 2)
  for (const [position, { domain, one, any }] of wild.entries()) {
    const above = suffixes.findCanonical(domain)
    // Whoever is below this domain is at least two labels below those above it.
    const deeper = grow(builder, above < 0 ? NOTHING : sets[above & ~1]!, any)
    sets[2 * position] = deeper
    sets[2 * position + 1] = grow(builder, deeper, one)
  }
  return createWildcards(suffixes, sets)
}

/** `sets` are indexed by what the table finds. */
function createWildcards(suffixes: SuffixTable, sets: Int32Array): Wildcards {
  const setAt = (found: number): number => (found < 0 ? NOTHING : sets[found]!)
  return {
    find(text) {
      const found = suffixes.find(text)
      return found === NOT_PLAIN ? NOT_PLAIN : setAt(found)
    },
    findCanonical: (name) => setAt(suffixes.findCanonical(name)),
  }
}

function grow(builder: ChainSetsBuilder, parent: number, groups: PortGroups | null): number {
  return groups === null ? parent : builder.add(parent, groups)
}
