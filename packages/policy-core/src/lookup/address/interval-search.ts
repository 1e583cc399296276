import type { Intervals } from './intervals.ts'
import {
  buildRadixTable,
  CELLS,
  FIRST,
  LAST,
  MASK,
  PREFIX,
  PREFIX_MASK,
  SHIFT,
  WORD,
  type RadixTable,
} from './radix-table.ts'

/** Finds the set of the interval that an IPv4 address lies in. */
export class Ipv4Search {
  readonly #starts: Uint32Array
  readonly #sets: Int32Array
  readonly #table: RadixTable

  constructor(intervals: Intervals) {
    this.#starts = intervals.starts
    this.#sets = intervals.sets
    this.#table = buildRadixTable(intervals)
  }

  /** The address has 32 bits. */
  find(address: number): number {
    const table = this.#table
    const starts = this.#starts
    const sets = this.#sets
    const end = sets.length - 1
    let start = 0
    let node = table.length > 0 ? 0 : -1
    while (node >= 0) {
      const prefix = address & table[node + PREFIX_MASK]!
      if (prefix !== table[node + PREFIX]!) return sets[outside(table, node, prefix)]!
      const cell = table[node + CELLS + ((address >>> table[node + SHIFT]!) & table[node + MASK]!)]!
      start = cell - 1
      node = ~cell
    }
    while (start < end && address >= starts[start + 1]!) start += 1
    return sets[start]!
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

  /** The address is four words. */
  find(address: Uint32Array): number {
    const table = this.#table
    const starts = this.#starts
    const sets = this.#sets
    const end = sets.length - 1
    let start = 0
    let node = table.length > 0 ? 0 : -1
    while (node >= 0) {
      const bits = address[table[node + WORD]!]!
      const prefix = bits & table[node + PREFIX_MASK]!
      if (prefix !== table[node + PREFIX]!) return sets[outside(table, node, prefix)]!
      const cell = table[node + CELLS + ((bits >>> table[node + SHIFT]!) & table[node + MASK]!)]!
      start = cell - 1
      node = ~cell
    }
    while (start < end && !isBelow(address, starts, start + 1)) start += 1
    return sets[start]!
  }
}

/** The interval of an address that does not begin like the starts of the node. */
function outside(table: RadixTable, node: number, prefix: number): number {
  const isBefore = prefix >>> 0 < table[node + PREFIX]! >>> 0
  return isBefore ? table[node + FIRST]! - 1 : table[node + LAST]!
}

function isBelow(address: Uint32Array, starts: Uint32Array, start: number): boolean {
  for (let word = 0; word < 3; word += 1) {
    const bits = address[word]!
    const other = starts[4 * start + word]!
    if (bits !== other) return bits < other
  }
  return address[3]! < starts[4 * start + 3]!
}
