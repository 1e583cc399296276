import { found, NONE, UNKNOWN, type Meter, type SearchResult } from '../meter.ts'
import type { BitPositions } from './embedding-bits.ts'
import { splitAt, type Slice, type SortedRanges } from './sorted-ranges.ts'

/** Ranges that exclude the address, with the positions of their bits. */
export interface Outside extends BitPositions {
  readonly ranges: SortedRanges
}

/** Required bits of an address: 0, 1, or -1 for either. */
export type WantedBits = Int8Array

export function anyBits(length: number): WantedBits {
  return new Int8Array(length).fill(-1)
}

/** Requires the first `prefix` bits of `base` at `positions`; null when other bits are required. */
export function wantBits(
  wanted: WantedBits,
  { base, prefix }: { readonly base: bigint; readonly prefix: number },
  { positions, isInverted }: BitPositions,
): WantedBits | null {
  const bits = Int8Array.from(wanted)
  for (let index = 0; index < prefix; index += 1) {
    const position = positions[index] ?? 0
    const bit = Number((base >> BigInt(positions.length - 1 - index)) & 1n) ^ (isInverted ? 1 : 0)
    if (bits[position] !== -1 && bits[position] !== bit) return null
    bits[position] = bit
  }
  return bits
}

/** Ranges that share the first `depth` bits. Never empty. */
interface View {
  readonly outside: Outside
  /** Identifies the list of ranges. */
  readonly index: number
  readonly slice: Slice
  readonly depth: number
}

/**
 * Finds an address with the wanted bits outside all ranges, as close to `liked` as possible.
 *
 * Every embedding reads its bits from left to right, so one descent serves all of them. States with
 * the same possible ranges have the same answer, so each state is visited once.
 */
export function findBits(
  question: {
    readonly wanted: WantedBits
    readonly liked: bigint
    readonly outside: readonly Outside[]
  },
  meter: Meter,
): SearchResult<bigint> {
  const { wanted, liked, outside } = question
  const width = wanted.length
  const failed = new Set<string>()
  let isCut = false

  const likedBit = (bit: number): number => Number((liked >> BigInt(width - 1 - bit)) & 1n)
  const choicesAt = (bit: number): readonly number[] => {
    const want = wanted[bit] ?? -1
    return want === -1 ? [likedBit(bit), 1 - likedBit(bit)] : [want]
  }

  const descend = (bit: number, value: bigint, views: readonly View[]): bigint | null => {
    if (views.some(isCovered)) return null
    if (bit === width) return value
    if (!meter.spend(1 + views.length)) {
      isCut = true
      return null
    }
    const key = views.length === 0 ? null : keyOf(bit, views)
    if (key !== null && failed.has(key)) return null
    for (const choice of choicesAt(bit)) {
      const next = views.flatMap((view) => step(view, bit, choice))
      const address = descend(bit + 1, (value << 1n) | BigInt(choice), next)
      if (address !== null || isCut) return address
    }
    if (key !== null) failed.add(key)
    return null
  }

  const start = outside.flatMap((list, index): View[] => {
    const { length } = list.ranges
    return length === 0 ? [] : [{ outside: list, index, slice: [0, length], depth: 0 }]
  })
  const address = descend(0, 0n, start)
  if (address !== null) return found(address)
  return isCut ? UNKNOWN : NONE
}

/** Whether a range ends here and so holds every address below. It sorts first in its slice. */
function isCovered({ outside, slice: [from], depth }: View): boolean {
  return outside.ranges[from]?.prefix === depth
}

/** The view after one more bit; empty when no range continues with that bit. */
function step(view: View, bit: number, choice: number): readonly View[] {
  const { outside, slice, depth } = view
  if (outside.positions[depth] !== bit) return [view]
  const split = splitAt(outside.ranges, slice, depth)
  const goesRight = outside.isInverted ? choice === 0 : choice === 1
  const [from, to] = goesRight ? [split, slice[1]] : [slice[0], split]
  return from === to ? [] : [{ ...view, slice: [from, to], depth: depth + 1 }]
}

/** A key that is equal for states with the same answer. */
function keyOf(bit: number, views: readonly View[]): string {
  let key = `${bit}`
  for (const { index, slice } of views) key += ` ${index}:${slice[0]}-${slice[1]}`
  return key
}
