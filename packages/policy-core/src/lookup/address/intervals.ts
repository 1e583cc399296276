import { maskOf } from '../../address/ipv6-words.ts'
import { ITEMS_A_STEP, type Steps } from '../../steps.ts'
import { NOTHING } from '../chain-sets.ts'
import type { SortedRanges, Width } from './sorted-ranges.ts'

/** All addresses of a family, cut where the ranges that hold an address change. */
export interface Intervals {
  readonly width: Width
  /** Ascending first addresses, `width` words each; that of the first interval is zero. */
  readonly starts: Uint32Array
  /** The set of each interval. */
  readonly sets: Int32Array
}

/**
 * Flattens nested ranges, so that a lookup finds one interval instead of every range around an
 * address. `open` creates the set inside a range from the set around it. O(ranges): ranges nest or
 * are disjoint, so the ranges around an address form a stack.
 */
export function* flattenRanges(
  ranges: SortedRanges,
  open: (range: number, parent: number) => number,
): Steps<Intervals> {
  const { width, firsts, prefixes, order } = ranges
  const starts = new Uint32Array((2 * order.length + 1) * width)
  const sets = new Int32Array(2 * order.length + 1)
  const behind = new Uint32Array(width)
  const around: { readonly range: number; readonly set: number }[] = []
  let count = 1

  function cut(words: Uint32Array, at: number, set: number): void {
    // Several ranges may start or end at one address, and only the last set counts there.
    if (isEqual(starts, (count - 1) * width, words, at)) count -= 1
    if (count > 0 && sets[count - 1] === set) return
    for (let word = 0; word < width; word += 1) starts[count * width + word] = words[at + word]!
    sets[count] = set
    count += 1
  }

  function close(): void {
    const { range } = around.pop()!
    for (let word = 0; word < width; word += 1) behind[word] = firsts[range * width + word]!
    if (addBit(behind, prefixes[range]!)) cut(behind, 0, around.at(-1)?.set ?? NOTHING)
  }

  function isEqual(a: Uint32Array, atA: number, b: Uint32Array, atB: number): boolean {
    for (let word = 0; word < width; word += 1) if (a[atA + word] !== b[atB + word]) return false
    return true
  }

  for (let index = 0; index < order.length; index += 1) {
    if (index % ITEMS_A_STEP === 0) yield
    const range = order[index]!
    while (around.length > 0 && !isInside(ranges, around.at(-1)!.range, range)) close()
    const set = open(range, around.at(-1)?.set ?? NOTHING)
    cut(firsts, range * width, set)
    around.push({ range, set })
  }
  while (around.length > 0) close()
  return { width, starts: starts.slice(0, count * width), sets: sets.slice(0, count) }
}

/** Tells whether a range that is not sorted before `outer` lies inside it. */
function isInside({ width, firsts, prefixes }: SortedRanges, outer: number, range: number) {
  const prefix = prefixes[outer]!
  for (let word = 0; word < width; word += 1) {
    const differing = firsts[outer * width + word]! ^ firsts[range * width + word]!
    if ((differing & maskOf(prefix - 32 * word)) !== 0) return false
  }
  return true
}

/** Adds one at the last bit of a prefix; false when the sum is beyond the last address. */
function addBit(words: Uint32Array, prefix: number): boolean {
  if (prefix === 0) return false
  let word = (prefix - 1) >>> 5
  words[word]! += (1 << (31 - ((prefix - 1) & 31))) >>> 0
  while (words[word] === 0 && word > 0) {
    word -= 1
    words[word]! += 1
  }
  return words[word] !== 0
}
