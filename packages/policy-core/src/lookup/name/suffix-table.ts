import { CODES, createNameScan, hashDomain, NOT_PLAIN, type NameScan } from './name-scan.ts'
import { placeHashes, type Cells } from './probing.ts'

/** Finds the longest of some domains that a name lies below. */
export interface SuffixTable {
  /**
   * The longest domain that `name` lies below, as `2 * position`, plus 1 where exactly one label
   * stands before it; -1 when there is none, and `NOT_PLAIN` when the name has to be read first.
   */
  readonly find: (name: string) => number
  /** The same for a name that is canonical, whatever it looks like. */
  readonly findCanonical: (name: string) => number
}

export function buildSuffixTable(domains: readonly string[]): SuffixTable {
  const table = buildTable(domains)
  return createFind(
    createNameScan(),
    table === null ? createMapSearch(domains) : createSearch(table),
  )
}

/** Looks for the domain behind each of the dots in `found`, up to `end`, the longest first. */
type Search = (name: string, found: Int32Array, end: number) => number

function createFind(scan: NameScan, search: Search): SuffixTable {
  return {
    find(name) {
      const end = scan.read(name)
      return end < 0 ? NOT_PLAIN : search(name, scan.found, end)
    },
    findCanonical: (name) => search(name, scan.found, scan.readCanonical(name)),
  }
}

interface Table extends Cells {
  /** Where the characters of each domain start, and behind the last one their number. */
  readonly offsets: Uint32Array
  readonly codes: Uint8Array
}

function createSearch(table: Table): Search {
  const { cells, mask } = table
  return (name, found, end) => {
    for (let dot = end - 2; dot >= 0; dot -= 2) {
      const hash = mix(found[dot + 1]!)
      let cell = hash & mask
      let position = cells[2 * cell + 1]! - 1
      while (position >= 0) {
        if (
          cells[2 * cell] === hash &&
          lengthOf(table, position) === name.length - found[dot]! &&
          isAt(table, position, found, CODES + found[dot]!)
        )
          return 2 * position + (dot === end - 2 ? 1 : 0)
        cell = (cell + 1) & mask
        position = cells[2 * cell + 1]! - 1
      }
    }
    return -1
  }
}

function lengthOf({ offsets }: Table, position: number): number {
  return offsets[position + 1]! - offsets[position]!
}

/** Whether the domain's characters stand at `start`. */
function isAt(
  { offsets, codes }: Table,
  position: number,
  found: Int32Array,
  start: number,
): boolean {
  const first = offsets[position]!
  const end = offsets[position + 1]!
  for (let at = first; at < end; at += 1) if (codes[at] !== found[start + at - first]) return false
  return true
}

function createMapSearch(domains: readonly string[]): Search {
  const positions = new Map(domains.map((domain, position) => [domain, position]))
  return (name, found, end) => {
    for (let dot = end - 2; dot >= 0; dot -= 2) {
      const position = positions.get(name.slice(found[dot]))
      if (position !== undefined) return 2 * position + (dot === end - 2 ? 1 : 0)
    }
    return -1
  }
}

/** Null when a search could take too long. */
export function buildTable(domains: readonly string[]): Table | null {
  const placed = placeHashes(domains.map((domain) => mix(hashDomain(domain))))
  if (placed === null) return null
  const offsets = new Uint32Array(domains.length + 1)
  for (const [position, { length }] of domains.entries())
    offsets[position + 1] = offsets[position]! + length
  const codes = new Uint8Array(offsets.at(-1)!)
  for (const [position, domain] of domains.entries())
    for (let at = 0; at < domain.length; at += 1)
      codes[offsets[position]! + at] = domain.charCodeAt(at)
  return { ...placed, offsets, codes }
}

/** Spreads the bits that hashing has only rotated. */
function mix(hash: number): number {
  const mixed = Math.imul(hash, 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}
