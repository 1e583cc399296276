import { maskOf, type Ipv6Words } from '../../address/ipv6-words.ts'
import { enlarged } from '../enlarged.ts'
import type { Intervals } from './intervals.ts'

/**
 * Nodes in one array. Each node divides a run of starts by an index: the bits after their common
 * prefix. Common bits are skipped, because the IPv6 addresses of an organization share thirty-two
 * or more, which a table of the first bits would not divide.
 *
 * An address belongs to a node when its word for that node, masked, equals `PREFIX`. Otherwise it
 * is before the first start or after the last one. Its index is the word, shifted and masked. The
 * cell of an index is the first start with this or a greater index. A negative cell is the
 * complement of the node that divides the starts with this index.
 *
 * A node has fewer cells than twice its starts, and a start is in fewer nodes than it has bits.
 * This bounds the memory for any starts.
 */
export type RadixTable = Int32Array

const FIRST = 0
const LAST = 1
/** Shift, word and mask in one number, because a load costs more than unpacking. */
const FORM = 2
const PREFIX_MASK = 3
const PREFIX = 4
const CELLS = 5

const WORD_SHIFT = 5
const MASK_SHIFT = 7
/** Maximum bits of an index, so that the mask fits beside the rest of a form. */
const MAX_INDEX_BITS = 24

/** Maximum number of starts for linear instead of binary search. bench: decide/addresses */
const MAX_UNDIVIDED = 4

/** Initial size of a table, which grows on demand. */
const INITIAL_ROOM = 64

const LAST_ADDRESS = 0xffff_ffff

/** Finds the set of the interval that an IPv4 address lies in. */
export class Ipv4Search {
  readonly #starts: Uint32Array
  readonly #sets: Int32Array
  readonly #table: RadixTable

  constructor(intervals: Intervals) {
    const { starts, sets } = intervals
    // The last interval is repeated, because `find` reads that far.
    this.#starts = new Uint32Array(starts.length + MAX_UNDIVIDED).fill(LAST_ADDRESS)
    this.#starts.set(starts)
    this.#sets = new Int32Array(sets.length + MAX_UNDIVIDED).fill(sets.at(-1)!)
    this.#sets.set(sets)
    this.#table = buildRadixTable(intervals)
  }

  /** The address has 32 bits, signed or not. */
  find(bits: number): number {
    const table = this.#table
    const starts = this.#starts
    const address = bits >>> 0
    let start = 0
    let node = table.length > 0 ? 0 : -1
    while (node >= 0) {
      const prefix = bits & table[node + PREFIX_MASK]!
      if (prefix !== table[node + PREFIX]!) return this.#sets[outside(table, node, prefix)]!
      const form = table[node + FORM]!
      // Shifting by a form shifts by its lowest five bits.
      const cell = table[node + CELLS + ((bits >>> form) & (form >>> MASK_SHIFT))]!
      start = cell - 1
      node = ~cell
    }
    // Counts without a branch, because a processor cannot predict the end of a search.
    let passed = 0
    for (let at = 1; at <= MAX_UNDIVIDED; at += 1) passed += Number(address >= starts[start + at]!)
    return this.#sets[start + passed]!
  }
}

/** Finds the set of the interval that an IPv6 address lies in. */
export class Ipv6Search {
  readonly #starts: Uint32Array
  readonly #sets: Int32Array
  readonly #table: RadixTable

  constructor(intervals: Intervals) {
    this.#starts = intervals.starts
    this.#sets = intervals.sets
    this.#table = buildRadixTable(intervals)
  }

  find(address: Ipv6Words): number {
    const table = this.#table
    const starts = this.#starts
    const sets = this.#sets
    const end = sets.length - 1
    let start = 0
    let node = table.length > 0 ? 0 : -1
    while (node >= 0) {
      const form = table[node + FORM]!
      const bits = address[(form >>> WORD_SHIFT) & 0b11]!
      const prefix = bits & table[node + PREFIX_MASK]!
      if (prefix !== table[node + PREFIX]!) return sets[outside(table, node, prefix)]!
      const cell = table[node + CELLS + ((bits >>> form) & (form >>> MASK_SHIFT))]!
      start = cell - 1
      node = ~cell
    }
    while (start < end && !isBelow(address, starts, start + 1)) start += 1
    return sets[start]!
  }
}

/** The interval of an address that lacks the common prefix of the node. */
function outside(table: RadixTable, node: number, prefix: number): number {
  const isBefore = prefix >>> 0 < table[node + PREFIX]! >>> 0
  return isBefore ? table[node + FIRST]! - 1 : table[node + LAST]!
}

function isBelow(address: Ipv6Words, starts: Uint32Array, start: number): boolean {
  for (let word = 0; word < 4; word += 1) {
    const bits = address[word]! >>> 0
    const other = starts[4 * start + word]!
    if (bits !== other) return bits < other
  }
  return false
}

/** The first node divides all starts except that of the first interval. Empty for few starts. */
export function buildRadixTable({ width, starts, sets }: Intervals): RadixTable {
  let table = new Int32Array(INITIAL_ROOM)
  let size = 0
  if (sets.length - 1 > MAX_UNDIVIDED) divide(1, sets.length - 1, 0)
  return table.slice(0, size)

  /** Divides starts that have all words before `word` in common. */
  function divide(first: number, last: number, word: number): number {
    const sample = starts[first * width + word]!
    const common = Math.clz32(sample ^ starts[last * width + word]!)
    // A word that all starts have in common gets a node with one cell, which compares it.
    const wanted = Math.ceil(Math.log2(last - first + 1))
    const bits = Math.min(32 - common, wanted, MAX_INDEX_BITS)
    const shift = common === 32 ? 0 : 32 - common - bits
    const mask = 2 ** bits - 1
    const nextWord = shift === 0 ? word + 1 : word
    const node = size
    const cells = node + CELLS
    size = cells + mask + 1
    if (size > table.length) table = enlarged(table, size)
    const form = shift | (word << WORD_SHIFT) | (mask << MASK_SHIFT)
    table.set([first, last, form, maskOf(common), sample & maskOf(common)], node)
    const indexOf = (start: number): number => (starts[start * width + word]! >>> shift) & mask
    let filled = 0
    for (let from = first, next = first; from <= last; from = next) {
      const index = indexOf(from)
      while (next <= last && indexOf(next) === index) next += 1
      table.fill(from, cells + filled, cells + index)
      // Dividing may replace the array of the table.
      const cell = next - from > MAX_UNDIVIDED ? ~divide(from, next - 1, nextWord) : from
      table[cells + index] = cell
      filled = index + 1
    }
    table.fill(last + 1, cells + filled, cells + mask + 1)
    return node
  }
}
