import type { Random } from '../../bench/src/workload/random.ts'

/** A range of sizes in resources, and the number of sets of each `CYCLE` that are drawn from it. */
export interface SizeClass {
  readonly from: number
  readonly to: number
  readonly share: number
}

/**
 * The reference needs seconds for a large set and milliseconds for a small one. These shares give
 * each class about the same time, and every class occurs within a minute.
 */
export const SIZE_CLASSES: readonly SizeClass[] = [
  { from: 1, to: 9, share: 240 },
  { from: 10, to: 99, share: 120 },
  { from: 100, to: 999, share: 32 },
  { from: 1000, to: 9999, share: 6 },
  { from: 10_000, to: 50_000, share: 2 },
]

const CYCLE = SIZE_CLASSES.reduce((sum, { share }) => sum + share, 0)

/** Coprime to the cycle, so that consecutive seeds fall into different classes. */
const STRIDE = 163

/** Returns the class of a seed. Any `CYCLE` consecutive seeds give each class its share. */
export function sizeClassOf(seed: number): SizeClass {
  let place = (seed * STRIDE) % CYCLE
  for (const each of SIZE_CLASSES) {
    place -= each.share
    if (place < 0) return each
  }
  throw new RangeError(`${seed} is not a seed; give a whole number from 0`)
}

/** Draws a size from the class, uniform in its logarithm. */
export function drawSize({ from, to }: SizeClass, random: Random): number {
  return Math.min(to, Math.floor(from * ((to + 1) / from) ** random.next()))
}
