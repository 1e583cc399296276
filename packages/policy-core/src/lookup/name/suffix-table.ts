import { ITEMS_A_STEP, type Steps } from '../../steps.ts'
import { hashDomain, hashOf, NameScan, NOT_PLAIN, startOf } from './name-scan.ts'
import { placeHashes, type Cells } from './probing.ts'

const NO_DOMAINS: Table = {
  cells: new Int32Array(2),
  mask: 0,
  minDots: 0,
  maxDots: -1,
  offsets: new Uint32Array(1),
  codes: new Uint8Array(0),
}

/** Finds the longest listed domain above a name. */
export class SuffixTable {
  readonly #scan = new NameScan()
  readonly #table: Table
  /** Replaces the table if a search in it could take too long. */
  readonly #positions: ReadonlyMap<string, number> | null

  /** The table of `buildTable`. */
  constructor(domains: readonly string[], table: Table | null) {
    this.#table = table ?? NO_DOMAINS
    this.#positions =
      table === null ? new Map(domains.map((domain, position) => [domain, position])) : null
  }

  /**
   * The longest domain above `name`, as `2 * position`, plus 1 if exactly one label precedes it.
   * Returns -1 without one, and `NOT_PLAIN` when the name must be parsed first.
   */
  find(name: string): number {
    const dots = this.#scan.read(name)
    return dots < 0 ? NOT_PLAIN : this.#search(name, dots)
  }

  /** Like `find`, for a name that is known to be canonical. */
  findCanonical(name: string): number {
    return this.#search(name, this.#scan.readCanonical(name))
  }

  /** Searches for the domain after each dot of the scan, the longest first. */
  #search(name: string, dots: number): number {
    if (this.#positions !== null) return this.#searchInMap(this.#positions, name, dots)
    const { found } = this.#scan
    const { cells, mask, minDots, maxDots } = this.#table
    for (let dot = Math.min(dots - 1, maxDots); dot >= minDots; dot -= 1) {
      const hash = mix(hashOf(found[dot]!))
      let cell = hash & mask
      let position = cells[2 * cell + 1]! - 1
      while (position >= 0) {
        if (cells[2 * cell] === hash && isAt(this.#table, position, name, startOf(found[dot]!)))
          return 2 * position + (dot === dots - 1 ? 1 : 0)
        cell = (cell + 1) & mask
        position = cells[2 * cell + 1]! - 1
      }
    }
    return -1
  }

  #searchInMap(positions: ReadonlyMap<string, number>, name: string, dots: number): number {
    const { found } = this.#scan
    for (let dot = dots - 1; dot >= 0; dot -= 1) {
      const position = positions.get(name.slice(startOf(found[dot]!)))
      if (position !== undefined) return 2 * position + (dot === dots - 1 ? 1 : 0)
    }
    return -1
  }
}

export function* buildSuffixTable(domains: readonly string[]): Steps<SuffixTable> {
  return new SuffixTable(domains, yield* buildTable(domains))
}

interface Table extends Cells {
  /**
   * Least and greatest number of dots in the domains. Names outside these bounds need no look-up.
   */
  readonly minDots: number
  readonly maxDots: number
  /** Start of each domain's characters, followed by the number of characters. */
  readonly offsets: Uint32Array
  readonly codes: Uint8Array
}

/** Whether the name from `start` on is the domain. */
function isAt({ offsets, codes }: Table, position: number, name: string, start: number): boolean {
  const first = offsets[position]!
  const length = offsets[position + 1]! - first
  if (name.length - start !== length) return false
  for (let at = 0; at < length; at += 1)
    if (codes[first + at] !== name.charCodeAt(start + at)) return false
  return true
}

/** Null when a search could take too long. */
export function* buildTable(domains: readonly string[]): Steps<Table | null> {
  const hashes: number[] = []
  const offsets = new Uint32Array(domains.length + 1)
  let minDots = Infinity
  let maxDots = -1
  for (let position = 0; position < domains.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    const domain = domains[position]!
    const dots = countDots(domain)
    minDots = Math.min(minDots, dots)
    maxDots = Math.max(maxDots, dots)
    hashes.push(mix(hashDomain(domain)))
    offsets[position + 1] = offsets[position]! + domain.length
  }
  const placed = yield* placeHashes(hashes)
  if (placed === null) return null
  const codes = new Uint8Array(offsets.at(-1)!)
  for (let position = 0; position < domains.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    const domain = domains[position]!
    const first = offsets[position]!
    for (let at = 0; at < domain.length; at += 1) codes[first + at] = domain.charCodeAt(at)
  }
  return { ...placed, minDots: maxDots < 0 ? 0 : minDots, maxDots, offsets, codes }
}

function countDots(domain: string): number {
  let dots = 0
  for (let at = domain.indexOf('.'); at >= 0; at = domain.indexOf('.', at + 1)) dots += 1
  return dots
}

/** Spreads the bits, because hashing only rotates them. */
function mix(hash: number): number {
  const mixed = Math.imul(hash, 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}
