import { findPath, type GlobPath, type Segments } from '@palisade/policy-core/internal'
import { askPaths, found, NONE, UNKNOWN, type Meter, type SearchResult } from '../meter.ts'
import { matchesSample } from './matches-sample.ts'
import { formatSample, jointSample, samplePath } from './sample-path.ts'

/** Maximum steps of one search, so that one question cannot delay the others too long. */
const SEARCH_BUDGET = 400_000

/**
 * Finds a canonical path that `inside` and, when given, `within` match and no pattern of `outside`
 * matches. Exact; see `findPath`. A cheap guess comes first and nearly always succeeds.
 */
export function findInPaths(
  [inside, within]: readonly [Segments, Segments | null],
  outside: readonly Segments[],
  meter: Meter,
): SearchResult<string> {
  if (!meter.spend(outside.length + 1)) return UNKNOWN
  const inAll = within === null ? [inside] : [inside, within]
  const guesses = within === null ? [samplePath(inside)] : jointSamples(inside, within)
  for (const guess of guesses) {
    if (guess !== null && isAnswer(guess, inAll, outside, meter)) return found(formatSample(guess))
    if (meter.isSpent()) return UNKNOWN
  }
  const result = askPaths(meter, SEARCH_BUDGET, (steps) =>
    findPath({ inAll, inNone: outside }, steps),
  )
  if (result.kind === 'found') return found(result.path)
  return result.kind === 'none' ? NONE : UNKNOWN
}

/** Candidate paths that two patterns may share. */
function jointSamples(a: Segments, b: Segments): readonly (GlobPath | null)[] {
  return [samplePath(a), samplePath(b), jointSample(a, b), jointSample(b, a)]
}

/** False also when the budget is used up. */
function isAnswer(
  path: GlobPath,
  inside: readonly Segments[],
  outside: readonly Segments[],
  meter: Meter,
): boolean {
  for (const pattern of inside) if (!matchesSample(pattern, path, meter)) return false
  for (const pattern of outside) {
    if (matchesSample(pattern, path, meter)) return false
    if (meter.isSpent()) return false
  }
  return true
}
