import { ITEMS_A_STEP, type Steps } from '../../steps.ts'
import {
  createChainSets,
  NOTHING,
  type ChainSets,
  type ChainSetsBuilder,
  type PortGroups,
} from '../chain-sets.ts'
import { NameScan, NOT_PLAIN } from './name-scan.ts'
import { buildNameTable, type NameTable } from './name-table.ts'

/** The name patterns of one domain, by the number of labels below it. */
export interface DomainPatterns {
  readonly domain: string
  readonly exact: PortGroups | null
  /** `*.`: one label. */
  readonly one: PortGroups | null
  /** `**.`: one or more labels. */
  readonly any: PortGroups | null
}

/** Finds the set of a name in time that depends on the name alone. */
export class NameIndex {
  readonly sets: ChainSets
  readonly #names: NameTable
  /** The set of each name, by position in `#names`. */
  readonly #setOfName: Int32Array
  readonly #wildcards: Wildcards
  readonly #scan = new NameScan()

  constructor(sets: ChainSets, names: NameTable, setOfName: Int32Array, wildcards: Wildcards) {
    this.sets = sets
    this.#names = names
    this.#setOfName = setOfName
    this.#wildcards = wildcards
  }

  /** The set for a plainly canonical name, or `NOT_PLAIN`. */
  find(text: string): number {
    return this.#scan.read(text) ? this.#search(text) : NOT_PLAIN
  }

  /** The set for a canonical name. */
  findCanonical(name: string): number {
    this.#scan.readCanonical(name)
    return this.#search(name)
  }

  #search(name: string): number {
    const position = this.#names.find(this.#scan, name)
    return position < 0 ? this.#wildcards.find(this.#scan, name) : this.#setOfName[position]!
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
  const wildcards = yield* buildWildcards(patterns, builder)
  const exact = patterns.filter((pattern) => pattern.exact !== null)
  const names = yield* buildNameTable(exact.map(({ domain }) => domain))
  const setOfName = new Int32Array(exact.length)
  const scan = new NameScan()
  for (let position = 0; position < exact.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    const { domain, exact: groups } = exact[position]!
    scan.readCanonical(domain)
    setOfName[position] = grow(builder, wildcards.find(scan, domain), groups)
  }
  yield
  return new NameIndex(builder.finish(), names, setOfName, wildcards)
}

/** The sets for names below domains with wildcards. */
class Wildcards {
  readonly #domains: NameTable
  /** Sets by position in `#domains`: for names one label below, and for names further below. */
  readonly #one: Int32Array
  readonly #deeper: Int32Array

  constructor(domains: NameTable, one: Int32Array, deeper: Int32Array) {
    this.#domains = domains
    this.#one = one
    this.#deeper = deeper
  }

  /** The set of the longest domain above the scanned name. */
  find(scan: NameScan, name: string): number {
    const last = scan.dots - 1
    for (let dot = last; dot >= 0; dot -= 1) {
      const position = this.#domains.findAfter(scan, name, dot)
      if (position >= 0) return dot === last ? this.#one[position]! : this.#deeper[position]!
    }
    return NOTHING
  }

  /** The set for names two or more labels below the domains above the scanned name. */
  findDeeper(scan: NameScan, name: string): number {
    for (let dot = scan.dots - 1; dot >= 0; dot -= 1) {
      const position = this.#domains.findAfter(scan, name, dot)
      if (position >= 0) return this.#deeper[position]!
    }
    return NOTHING
  }
}

function* buildWildcards(
  patterns: readonly DomainPatterns[],
  builder: ChainSetsBuilder,
): Steps<Wildcards> {
  // Shorter domains first, so that the sets above a domain exist before its own.
  const wild = patterns
    .filter(({ one, any }) => one !== null || any !== null)
    .toSorted((a, b) => a.domain.length - b.domain.length)
  yield
  const domains = yield* buildNameTable(wild.map(({ domain }) => domain))
  const oneBelow = new Int32Array(wild.length)
  const deeper = new Int32Array(wild.length)
  const wildcards = new Wildcards(domains, oneBelow, deeper)
  const scan = new NameScan()
  for (let position = 0; position < wild.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    const { domain, one, any } = wild[position]!
    scan.readCanonical(domain)
    // A name below this domain is at least two labels below the domains above it.
    deeper[position] = grow(builder, wildcards.findDeeper(scan, domain), any)
    oneBelow[position] = grow(builder, deeper[position]!, one)
  }
  return wildcards
}

function grow(builder: ChainSetsBuilder, parent: number, groups: PortGroups | null): number {
  return groups === null ? parent : builder.add(parent, groups)
}
