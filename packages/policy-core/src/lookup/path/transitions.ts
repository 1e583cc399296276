import { NONE } from './token-trie.ts'

/** Maximum distance of an entry from the cell of its hash. */
const MAX_PROBES = 32
/** Integers of an entry: key, low, high, next. */
const ENTRY = 4
const FIRST_SLOTS = 16

interface Transition {
  readonly key: number
  readonly low: number
  readonly high: number
  readonly next: number
}

/**
 * A table from a key above 0 and two numbers to a number. Memory grows only as it is used.
 *
 * An entry that would be too far from its cell is refused, so that colliding names slow down only
 * themselves. All parts of reading a name are classes, because closures of several indices in one
 * program slow each other down. bench: decide/paths
 */
export class Transitions {
  readonly #max: number
  #entries = new Int32Array(ENTRY * FIRST_SLOTS)
  #mask = FIRST_SLOTS - 1
  #size = 0

  /** Room for `max` entries. */
  constructor(max: number) {
    this.#max = max
  }

  /** The next stand, or `NONE`. */
  find(key: number, low: number, high: number): number {
    const entries = this.#entries
    const mask = this.#mask
    let slot = hashOf(key, low, high) & mask
    for (let probe = 0; probe < MAX_PROBES; probe += 1) {
      const at = slot * ENTRY
      const found = entries[at]!
      if (found === key && entries[at + 1] === low && entries[at + 2] === high)
        return entries[at + 3]!
      if (found === 0) return NONE
      slot = (slot + 1) & mask
    }
    return NONE
  }

  /** Adds a new entry; tells whether there was room. */
  add(transition: Transition): boolean {
    if (this.#size >= this.#max) return false
    if (this.#size * 2 > this.#mask) this.#grow()
    return this.#put(transition)
  }

  clear(): void {
    this.#entries = new Int32Array(ENTRY * FIRST_SLOTS)
    this.#mask = FIRST_SLOTS - 1
    this.#size = 0
  }

  #put({ key, low, high, next }: Transition): boolean {
    let slot = hashOf(key, low, high) & this.#mask
    for (let probe = 0; probe < MAX_PROBES; probe += 1) {
      if (this.#entries[slot * ENTRY] === 0) {
        this.#entries.set([key, low, high, next], slot * ENTRY)
        this.#size += 1
        return true
      }
      slot = (slot + 1) & this.#mask
    }
    return false
  }

  #grow(): void {
    const old = this.#entries
    this.#entries = new Int32Array(old.length * 2)
    this.#mask = this.#mask * 2 + 1
    this.#size = 0
    for (let at = 0; at < old.length; at += ENTRY) {
      if (old[at] === 0) continue
      this.#put({ key: old[at]!, low: old[at + 1]!, high: old[at + 2]!, next: old[at + 3]! })
    }
  }
}

function hashOf(key: number, low: number, high: number): number {
  const name = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1)
  const hash = Math.imul(name ^ (name >>> 15) ^ key, 0xc2b2ae35)
  return hash ^ (hash >>> 15)
}
