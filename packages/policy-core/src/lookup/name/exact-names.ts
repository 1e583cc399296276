import { ITEMS_A_STEP, type Steps } from '../../steps.ts'
import { placeHashes, type Cells } from './probing.ts'

/** Shorter names lack some of the sampled characters. */
const MIN_SAMPLED = 4

/** Finds whole names. Texts are compared unchanged, so only canonical names are found. */
export class ExactNames {
  readonly #names: readonly string[]
  readonly #cells: Int32Array
  readonly #mask: number
  /** The names that are not in the cells: those shorter than this, in a `Map`. */
  readonly #minLength: number
  readonly #shorter: ReadonlyMap<string, number>

  /** The table of `buildTable`. */
  constructor(names: readonly string[], table: Cells | null) {
    this.#names = names
    this.#cells = table?.cells ?? new Int32Array(2)
    this.#mask = table?.mask ?? 0
    this.#minLength = table === null ? Infinity : MIN_SAMPLED
    const shorter = new Map<string, number>()
    for (let position = 0; position < names.length; position += 1) {
      const name = names[position]!
      if (name.length < this.#minLength) shorter.set(name, position)
    }
    this.#shorter = shorter
  }

  /** The position of `name` in the list, or -1. */
  find(name: string): number {
    if (name.length < this.#minLength) return this.#shorter.get(name) ?? -1
    const cells = this.#cells
    const mask = this.#mask
    const signature = signName(name)
    let cell = signature & mask
    for (;;) {
      const position = cells[2 * cell + 1]! - 1
      if (position < 0) return -1
      if (cells[2 * cell] === signature && this.#names[position] === name) return position
      cell = (cell + 1) & mask
    }
  }
}

export function* buildExactNames(names: readonly string[]): Steps<ExactNames> {
  return new ExactNames(names, yield* buildTable(names))
}

/** Null when a search could be long. */
export function* buildTable(names: readonly string[]): Steps<Cells | null> {
  const signatures: (number | null)[] = []
  for (let position = 0; position < names.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    const name = names[position]!
    signatures.push(name.length < MIN_SAMPLED ? null : signName(name))
  }
  return yield* placeHashes(signatures)
}

/**
 * Length and seven characters in 32 bits. `Map.get` would hash the whole name, which is the largest
 * cost, because a name from a socket has no cached hash.
 */
export function signName(name: string): number {
  const { length } = name
  const quarter = length >> 2
  const middle = length >> 1
  const ends =
    name.charCodeAt(0) |
    (name.charCodeAt(quarter) << 8) |
    (name.charCodeAt(middle) << 16) |
    (length << 24)
  const between =
    name.charCodeAt(1) |
    (name.charCodeAt(middle - 1) << 8) |
    (name.charCodeAt(middle + 1) << 16) |
    (name.charCodeAt(length - quarter) << 24)
  let mixed = Math.imul(ends, 0x9e37_79b1) ^ Math.imul(between, 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2_ae35)
  return mixed ^ (mixed >>> 13)
}
