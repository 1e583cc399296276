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

/** Finds the longest of some domains that a name lies below. */
export class SuffixTable {
  readonly #scan = new NameScan()
  readonly #table: Table
  /** Instead of the table, where a search in it could take too long. */
  readonly #positions: ReadonlyMap<string, number> | null

  /** The table of `buildTable`. */
  constructor(domains: readonly string[], table: Table | null) {
    this.#table = table ?? NO_DOMAINS
    this.#positions =
      table === null ? new Map(domains.map((domain, position) => [domain, position])) : null
  }

  /**
   * The longest domain that `name` lies below, as `2 * position`, plus 1 where exactly one label
   * stands before it; -1 when there is none, and `NOT_PLAIN` when the name has to be read first.
   */
  find(name: string): number {
    const dots = this.#scan.read(name)
    return dots < 0 ? NOT_PLAIN : this.#search(name, dots)
  }

  /** The same for a name that is canonical, whatever it looks like. */
  findCanonical(name: string): number {
    return this.#search(name, this.#scan.readCanonical(name))
  }

  /** Looks for the domain behind each dot that the scan has found, the longest first. */
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
   * How many dots the domains have at least and at most: nothing is looked up with more or fewer.
   */
  readonly minDots: number
  readonly maxDots: number
  /** Where the characters of each domain start, and behind the last one their number. */
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

/** Spreads the bits that hashing has only rotated. */
function mix(hash: number): number {
  const mixed = Math.imul(hash, 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}
