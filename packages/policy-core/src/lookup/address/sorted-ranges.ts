import type { IpRange } from '../../address/ip-range.ts'
import { maskOf } from '../../address/ipv6-words.ts'

/** How many 32-bit words an address of a family has. */
export type Width = 1 | 4

/** Ranges of one family in columns, because sorting BigInts is slow. bench: decide/compile */
export interface SortedRanges {
  readonly width: Width
  /** First addresses, `width` words each, the most significant first. */
  readonly firsts: Uint32Array
  readonly prefixes: Uint8Array
  /** The ranges by first address, the wider first; equal ones as they were given. */
  readonly order: Uint32Array
}

export function sortRanges(ranges: readonly IpRange[], width: Width): SortedRanges {
  const firsts = new Uint32Array(ranges.length * width)
  const prefixes = new Uint8Array(ranges.length)
  const scratch = new DataView(new ArrayBuffer(16))
  for (let index = 0; index < ranges.length; index += 1) {
    const { base, prefix } = ranges[index]!
    scratch.setBigUint64(0, width === 1 ? base << 32n : base >> 64n)
    scratch.setBigUint64(8, base)
    for (let word = 0; word < width; word += 1)
      firsts[index * width + word] = scratch.getUint32(4 * word) & maskOf(prefix - 32 * word)
    prefixes[index] = prefix
  }
  const order = new Uint32Array(ranges.length)
  for (let index = 0; index < order.length; index += 1) order[index] = index
  order.sort((a, b) => {
    const sooner = compareAt(firsts, a, b, width)
    if (sooner !== 0) return sooner
    return prefixes[a]! - prefixes[b]! || a - b
  })
  return { width, firsts, prefixes, order }
}

function compareAt(firsts: Uint32Array, a: number, b: number, width: Width): number {
  for (let word = 0; word < width; word += 1) {
    const difference = firsts[a * width + word]! - firsts[b * width + word]!
    if (difference !== 0) return difference
  }
  return 0
}
