import type { Intervals } from './intervals.ts'
import { maskOf } from './sorted-ranges.ts'

/**
 * Nodes in one array, each for a run of starts that an index divides: the bits that follow those
 * which all of them have in common. Common bits are skipped, because the IPv6 addresses of an
 * organization share thirty-two and more, which no table of the first bits would divide.
 *
 * An address is at home in a node when the word `WORD` of it, masked, is `PREFIX`; otherwise it is
 * before the first start or behind the last one. Its index is the word, shifted and masked. The
 * cell of an index is the first start with this or a greater index; or, below zero, the complement
 * of the node that divides the starts with this index.
 *
 * A node has fewer cells than twice its starts, and a start is in fewer nodes than it has bits:
 * this bounds the memory whatever starts somebody chose.
 */
export type RadixTable = Int32Array

export const FIRST = 0
export const LAST = 1
export const WORD = 2
export const PREFIX_MASK = 3
export const PREFIX = 4
export const SHIFT = 5
export const MASK = 6
export const CELLS = 7

/** So many starts are looked at one by one: measured, a third faster than by halves. */
const MAX_UNDIVIDED = 4

/** Begins with the node of all starts but that of the first interval; empty for few of them. */
export function buildRadixTable({ width, starts, sets }: Intervals): RadixTable {
  const table: number[] = []
  if (sets.length - 1 > MAX_UNDIVIDED) divide(1, sets.length - 1, 0)
  return Int32Array.from(table)

  /** Divides starts that have all words before `word` in common. */
  function divide(first: number, last: number, word: number): number {
    const sample = starts[first * width + word]!
    const common = Math.clz32(sample ^ starts[last * width + word]!)
    // A word that all starts have in common gets a node with one cell, which compares it.
    const bits = Math.min(32 - common, Math.ceil(Math.log2(last - first + 1)))
    const shift = common === 32 ? 0 : 32 - common - bits
    const mask = 2 ** bits - 1
    const nextWord = shift === 0 ? word + 1 : word
    const node = table.length
    table.push(first, last, word, maskOf(common), sample & maskOf(common), shift, mask)
    for (let index = 0; index <= mask; index += 1) table.push(0)
    let start = first
    for (let index = 0; index <= mask; index += 1) {
      const from = start
      while (start <= last && ((starts[start * width + word]! >>> shift) & mask) === index)
        start += 1
      const isDivided = start - from > MAX_UNDIVIDED
      table[node + CELLS + index] = isDivided ? ~divide(from, start - 1, nextWord) : from
    }
    return node
  }
}
