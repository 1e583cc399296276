import { globMatches, type GlobPath, type Segments } from '@palisade/policy-core/internal'
import type { Meter } from '../meter.ts'

/** Pairs of a code unit of the pattern and one of the path that cost one step. */
const PAIRS_OF_STEP = 4096

/**
 * Tells whether the pattern matches the path, and charges for it. Ordinary patterns cost very
 * little. False when the budget does not suffice.
 */
export function matchesSample(pattern: Segments, path: GlobPath, meter: Meter): boolean {
  const pairs = patternUnits(pattern) * pathUnits(path)
  if (pairs >= PAIRS_OF_STEP && !meter.spend(Math.floor(pairs / PAIRS_OF_STEP))) return false
  return globMatches(pattern, path)
}

function patternUnits(pattern: Segments): number {
  let units = 0
  for (const segment of pattern) {
    units += 1
    if ('recursive' in segment) continue
    for (const piece of segment.pieces) units += 1 + piece.length
  }
  return units
}

function pathUnits({ segments }: GlobPath): number {
  let units = 0
  for (const name of segments) units += 1 + name.length
  return units
}
