import { found, NONE, UNKNOWN, type Meter, type Search } from '../meter.ts'
import type { BitPlaces } from './embedding-bits.ts'
import { splitAt, type Slice, type SortedRanges } from './sorted-ranges.ts'

/** Ranges that the address must not be in, and where their bits are read from. */
export interface Outside extends BitPlaces {
  readonly ranges: SortedRanges
}

/** Bits of an address that are settled: 0, 1, or -1 for either. */
export type WantedBits = Int8Array

export function anyBits(length: number): WantedBits {
  return new Int8Array(length).fill(-1)
}

/** Settles the first `prefix` bits of `base`, read where `places` says; null when others are. */
export function wantBits(
  wanted: WantedBits,
  { base, prefix }: { readonly base: bigint; readonly prefix: number },
  { places, isInverted }: BitPlaces,
): WantedBits | null {
  const bits = Int8Array.from(wanted)
  for (let index = 0; index < prefix; index += 1) {
    const place = places[index] ?? 0
    const bit = Number((base >> BigInt(places.length - 1 - index)) & 1n) ^ (isInverted ? 1 : 0)
    if (bits[place] !== -1 && bits[place] !== bit) return null
    bits[place] = bit
  }
  return bits
}

/** Ranges that share what was read so far, and how many bits were. Never empty. */
interface View {
  readonly outside: Outside
  /** Tells the lists apart. */
  readonly index: number
  readonly slice: Slice
  readonly depth: number
}

/**
 * An address with the wanted bits that is in none of the ranges, as near to `liked` as they allow.
 *
 * Every kind of embedding reads its bits from left to right, so one descent serves all of them at
 * once. Where the same ranges are still possible the same is true: each such place is visited once.
 */
export function findBits(
  question: {
    readonly wanted: WantedBits
    readonly liked: bigint
    readonly outside: readonly Outside[]
  },
  meter: Meter,
): Search<bigint> {
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

/** Whether a range ends here, so that it holds everything below. It stands first in its part. */
function isCovered({ outside, slice: [from], depth }: View): boolean {
  return outside.ranges[from]?.prefix === depth
}

/** The view behind one more bit; none when no range goes on like that. */
function step(view: View, bit: number, choice: number): readonly View[] {
  const { outside, slice, depth } = view
  if (outside.places[depth] !== bit) return [view]
  const split = splitAt(outside.ranges, slice, depth)
  const goesRight = outside.isInverted ? choice === 0 : choice === 1
  const [from, to] = goesRight ? [split, slice[1]] : [slice[0], split]
  return from === to ? [] : [{ ...view, slice: [from, to], depth: depth + 1 }]
}

/** Equal for places below which the same addresses will do. */
function keyOf(bit: number, views: readonly View[]): string {
  let key = `${bit}`
  for (const { index, slice } of views) key += ` ${index}:${slice[0]}-${slice[1]}`
  return key
}
