import { NameCode } from './name-code.ts'

const BITS_OF_LITERAL = 16

/**
 * Most names of a path are in no pattern. To find that in a `Map` costs 90 ns, mostly for cutting
 * the name out and for its hash; a bit costs one. Names chosen to collide cost no more than that.
 */
export class LiteralFilter {
  readonly #words: Int32Array
  readonly #mask: number

  constructor(literals: ReadonlyMap<string, number>) {
    let bits = 32
    while (bits < literals.size * BITS_OF_LITERAL) bits *= 2
    this.#words = new Int32Array(bits / 32)
    this.#mask = bits - 1
    const code = new NameCode()
    for (const name of literals.keys()) {
      if (code.read(name, 0) < 0) continue
      const bit = bitOf(code.low, code.high) & this.#mask
      this.#words[bit >> 5]! |= 1 << (bit & 31)
    }
  }

  /** False only when no plain literal has the code. */
  mayHave(low: number, high: number): boolean {
    const bit = bitOf(low, high) & this.#mask
    return (this.#words[bit >> 5]! & (1 << (bit & 31))) !== 0
  }
}

function bitOf(low: number, high: number): number {
  const hash = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1)
  return hash ^ (hash >>> 15)
}
