import type { MatchSet } from '../match-set.ts'
import { NameCode } from './name-code.ts'
import type { PathLimits } from './path-limits.ts'
import { START, type PatternStates } from './pattern-states.ts'
import type { PatternTrie } from './pattern-trie.ts'
import { NONE } from './token-trie.ts'
import { isNoName, isPlainFrom, MAX_PATH_LENGTH, SLASH } from './plain-path.ts'
import { keyOf, SegmentSteps } from './segment-steps.ts'
import { IS_SETTLED, stateOf } from './stands.ts'

const BITS_OF_LITERAL = 16

/** Reads paths name by name, in one pass that finds odd characters and encodes the names. */
export class SegmentAutomaton {
  readonly #states: PatternStates
  readonly #literals: LiteralFilter
  readonly #steps: SegmentSteps
  readonly #name = new NameCode()

  constructor(trie: PatternTrie, states: PatternStates, limits: PathLimits) {
    this.#states = states
    this.#literals = new LiteralFilter(trie.labels.literals)
    this.#steps = new SegmentSteps(trie, states, limits)
  }

  /** The match set of a plain path; null when the path is not plain. */
  find(path: string): MatchSet | null {
    const length = path.length
    if (path.charCodeAt(0) !== SLASH || length > MAX_PATH_LENGTH) return null
    if (length === 1) return this.#states.matches(START)
    let stand = this.#steps.begin()
    let from = 1
    for (;;) {
      const to = this.#name.read(path, from)
      if (to < 0 || isNoName(path, from, to)) return null
      const next = this.#next(stand, path, from, to)
      if (next === NONE) return isPlainFrom(path, from) ? this.#steps.walk(path) : null
      if (to === length) return this.#states.matches(stateOf(next))
      if ((next & IS_SETTLED) !== 0) return this.#matchesOfRest(next, path, to + 1)
      stand = next
      from = to + 1
    }
  }

  /** The match set of a canonical path other than `/`, with any characters. */
  findCanonical(path: string): MatchSet {
    let stand = this.#steps.begin()
    let from = 1
    for (;;) {
      const slash = path.indexOf('/', from)
      const to = slash < 0 ? path.length : slash
      const isOdd = this.#name.read(path, from) < 0
      const next = isOdd
        ? this.#steps.byOddName(stand, path, from, to)
        : this.#next(stand, path, from, to)
      if (next === NONE) return this.#steps.walk(path)
      if (to === path.length || (next & IS_SETTLED) !== 0)
        return this.#states.matches(stateOf(next))
      stand = next
      from = to + 1
    }
  }

  /** The stand after the last name. */
  #next(stand: number, path: string, from: number, to: number): number {
    const { low, high } = this.#name
    const steps = this.#steps
    if (!this.#literals.mayHave(low, high)) return steps.byOther(stand, path, from, to)
    let next = steps.byCode(keyOf(stand, to - from), low, high)
    if (next < NONE) next = steps.byLongName(next, path, from, to)
    return next === NONE ? steps.byName(stand, path, from, to) : next
  }

  #matchesOfRest(stand: number, path: string, from: number): MatchSet | null {
    return isPlainFrom(path, from) ? this.#states.matches(stateOf(stand)) : null
  }
}

/**
 * A bit filter for names, because most names of a path are in no pattern. A `Map` would need the
 * name cut out and hashed. Colliding names cost no more than that look-up. bench: decide/paths
 */
class LiteralFilter {
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
