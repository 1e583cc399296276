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

/** Finds the set of the interval that an IPv4 address lies in; the address has 32 bits. */
export function createIpv4Search(intervals: Intervals): (address: number) => number {
  const { starts, sets } = intervals
  const table = buildRadixTable(intervals)
  const end = sets.length - 1
  return (address) => {
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

/** Finds the set of the interval that an IPv6 address lies in; the address is four words. */
export function createIpv6Search(intervals: Intervals): (address: Uint32Array) => number {
  const { starts, sets } = intervals
  const table = buildRadixTable(intervals)
  const end = sets.length - 1
  return (address) => {
    let start = 0
    let word = 0
    let node = table.length > 0 ? 0 : -1
    while (node >= 0) {
      word = table[node + WORD]!
      const bits = address[word]!
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
