import { hashDomain, hashOf, NameScan, NOT_PLAIN, startOf } from './name-scan.ts'
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

interface Table extends Cells {
  /** How many dots the domains have at least and at most: nothing is looked up with more or fewer. */
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
export function buildTable(domains: readonly string[]): Table | null {
  const placed = placeHashes(domains.map((domain) => mix(hashDomain(domain))))
  if (placed === null) return null
  const offsets = new Uint32Array(domains.length + 1)
  for (let position = 0; position < domains.length; position += 1)
    offsets[position + 1] = offsets[position]! + domains[position]!.length
  const codes = new Uint8Array(offsets.at(-1)!)
  const text = domains.join('')
  for (let at = 0; at < text.length; at += 1) codes[at] = text.charCodeAt(at)
  return { ...placed, ...countDots(domains), offsets, codes }
}

function countDots(domains: readonly string[]): Pick<Table, 'minDots' | 'maxDots'> {
  let minDots = Infinity
  let maxDots = -1
  for (const domain of domains) {
    let dots = 0
    for (let at = domain.indexOf('.'); at >= 0; at = domain.indexOf('.', at + 1)) dots += 1
    minDots = Math.min(minDots, dots)
    maxDots = Math.max(maxDots, dots)
  }
  return { minDots: maxDots < 0 ? 0 : minDots, maxDots }
}

/** Spreads the bits that hashing has only rotated. */
function mix(hash: number): number {
  const mixed = Math.imul(hash, 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}
