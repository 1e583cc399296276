import { ITEMS_A_STEP, type Steps } from '../../steps.ts'
import { hashOf, NameScan, startOf } from './name-scan.ts'

/** Maximum distance of a name from the cell of its hash. */
const MAX_PROBES = 32
const ABSENT = -1

/**
 * Tables of up to this many cells (32 KiB) are at most a quarter full instead of half, because a
 * processor predicts empty cells better. In larger tables the memory would cost more.
 * bench: decide/hosts
 */
const MAX_SPARSE = 1 << 12

/**
 * Finds the position of a scanned name, or of a domain above it, in a list of canonical names. A
 * `Map` would hash each again, and compare it with a key elsewhere in memory. bench: decide/hosts
 *
 * Names that are too far from their cell are in a `Map`, so names whose hashes collide cost that
 * look-up and no more.
 */
export class NameTable {
  /** Pairs of hash and position + 1, at least half of them empty. */
  readonly #cells: Int32Array
  readonly #mask: number
  /** Start of each name's characters, followed by the number of characters. */
  readonly #offsets: Uint32Array
  readonly #codes: Uint8Array
  readonly #crowded = new Map<string, number>()

  constructor(names: readonly string[]) {
    let size = 8
    while (size < names.length * 2 || (size < names.length * 4 && size < MAX_SPARSE)) size *= 2
    this.#cells = new Int32Array(2 * size)
    this.#mask = size - 1
    this.#offsets = new Uint32Array(names.length + 1)
    this.#codes = new Uint8Array(names.reduce((sum, { length }) => sum + length, 0))
  }

  /** The position of the name, or -1. */
  find({ hash }: NameScan, name: string): number {
    return this.#find(hash, name, 0)
  }

  /** The position of the domain after a dot of the scan, or -1. */
  findAfter({ found }: NameScan, name: string, dot: number): number {
    return this.#find(hashOf(found[dot]!), name, startOf(found[dot]!))
  }

  /** Adds the name at the next position. Called by `buildNameTable` for each name in turn. */
  add(position: number, name: string, { hash }: NameScan): void {
    const first = this.#offsets[position]!
    for (let at = 0; at < name.length; at += 1) this.#codes[first + at] = name.charCodeAt(at)
    this.#offsets[position + 1] = first + name.length
    const cells = this.#cells
    let cell = mix(hash) & this.#mask
    for (let probe = 0; probe < MAX_PROBES; probe += 1) {
      if (cells[2 * cell + 1] === 0) {
        cells[2 * cell] = hash
        cells[2 * cell + 1] = position + 1
        return
      }
      cell = (cell + 1) & this.#mask
    }
    this.#crowded.set(name, position)
  }

  #find(hash: number, name: string, start: number): number {
    const cells = this.#cells
    let cell = mix(hash) & this.#mask
    for (let probe = 0; probe < MAX_PROBES; probe += 1) {
      const position = cells[2 * cell + 1]! - 1
      if (position < 0) break
      if (cells[2 * cell] === hash && this.#isAt(position, name, start)) return position
      cell = (cell + 1) & this.#mask
    }
    return this.#crowded.size === 0 ? ABSENT : (this.#crowded.get(name.slice(start)) ?? ABSENT)
  }

  #isAt(position: number, name: string, start: number): boolean {
    const first = this.#offsets[position]!
    const length = this.#offsets[position + 1]! - first
    if (name.length - start !== length) return false
    for (let at = 0; at < length; at += 1)
      if (this.#codes[first + at] !== name.charCodeAt(start + at)) return false
    return true
  }
}

export function* buildNameTable(names: readonly string[]): Steps<NameTable> {
  const scan = new NameScan()
  const table = new NameTable(names)
  for (let position = 0; position < names.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    scan.readCanonical(names[position]!)
    table.add(position, names[position]!, scan)
  }
  return table
}

/** Spreads the bits, because hashing only rotates them. */
function mix(hash: number): number {
  const mixed = Math.imul(hash, 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}
