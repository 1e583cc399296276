import type { Random } from '../../bench/src/workload/random.ts'

/** A range of sizes, in resources, and how many of `CYCLE` sets are drawn from it. */
export interface SizeClass {
  readonly from: number
  readonly to: number
  readonly share: number
}

/**
 * A large set takes the reference seconds, a small one milliseconds: with these shares each class
 * gets about as much time as the others (measured), and a minute holds every class.
 */
export const SIZE_CLASSES: readonly SizeClass[] = [
  { from: 1, to: 9, share: 240 },
  { from: 10, to: 99, share: 120 },
  { from: 100, to: 999, share: 32 },
  { from: 1000, to: 9999, share: 6 },
  { from: 10_000, to: 50_000, share: 2 },
]

const CYCLE = SIZE_CLASSES.reduce((sum, { share }) => sum + share, 0)

/** Any odd number that shares no factor with the cycle: neighbours fall into different classes. */
const STRIDE = 163

/** The class of the set with this seed: in a row of `CYCLE` seeds each has its share. */
export function sizeClassOf(seed: number): SizeClass {
  let place = (seed * STRIDE) % CYCLE
  for (const each of SIZE_CLASSES) {
    place -= each.share
    if (place < 0) return each
  }
  throw new RangeError(`${seed} is no seed; give a whole number from 0`)
}

/** A size of the class; small ones as likely as large ones, by their logarithm. */
export function drawSize({ from, to }: SizeClass, random: Random): number {
  return Math.min(to, Math.floor(from * ((to + 1) / from) ** random.next()))
}
