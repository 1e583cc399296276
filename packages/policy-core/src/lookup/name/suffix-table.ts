import { FIRST_DOT, hashDomain, NameScan, NOT_PLAIN } from './name-scan.ts'
import { placeHashes, type Cells } from './probing.ts'

/** Finds the longest of some domains that a name lies below. */
export class SuffixTable {
  readonly #scan = new NameScan()
  readonly #table: Table
  /** Instead of the table, where a search in it could take too long. */
  readonly #positions: ReadonlyMap<string, number> | null

  constructor(domains: readonly string[]) {
    const table = buildTable(domains)
    this.#table = table ?? buildTable([])!
    this.#positions =
      table === null ? new Map(domains.map((domain, position) => [domain, position])) : null
  }

  /**
   * The longest domain that `name` lies below, as `2 * position`, plus 1 where exactly one label
   * stands before it; -1 when there is none, and `NOT_PLAIN` when the name has to be read first.
   */
  find(name: string): number {
    const end = this.#scan.read(name)
    return end < 0 ? NOT_PLAIN : this.#search(name, end)
  }

  /** The same for a name that is canonical, whatever it looks like. */
  findCanonical(name: string): number {
    return this.#search(name, this.#scan.readCanonical(name))
  }

  /** Looks for the domain behind each dot that the scan has found, up to `end`, the longest first. */
  #search(name: string, end: number): number {
    if (this.#positions !== null) return this.#searchInMap(this.#positions, name, end)
    const { found } = this.#scan
    const { cells, mask } = this.#table
    for (let dot = end - 2; dot >= FIRST_DOT; dot -= 2) {
      const hash = mix(found[dot + 1]!)
      let cell = hash & mask
      let position = cells[2 * cell + 1]! - 1
      while (position >= 0) {
        if (
          cells[2 * cell] === hash &&
          lengthOf(this.#table, position) === name.length - found[dot]! &&
          isAt(this.#table, position, found, found[dot]!)
        )
          return 2 * position + (dot === end - 2 ? 1 : 0)
        cell = (cell + 1) & mask
        position = cells[2 * cell + 1]! - 1
      }
    }
    return -1
  }

  #searchInMap(positions: ReadonlyMap<string, number>, name: string, end: number): number {
    const { found } = this.#scan
    for (let dot = end - 2; dot >= FIRST_DOT; dot -= 2) {
      const position = positions.get(name.slice(found[dot]))
      if (position !== undefined) return 2 * position + (dot === end - 2 ? 1 : 0)
    }
    return -1
  }
}

interface Table extends Cells {
  /** Where the characters of each domain start, and behind the last one their number. */
  readonly offsets: Uint32Array
  readonly codes: Uint8Array
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
