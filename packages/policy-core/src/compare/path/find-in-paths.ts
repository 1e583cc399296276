import { findPath } from '../../language/find-path.ts'
import type { Segments } from '../../language/path-automaton.ts'
import { globMatches, type GlobPath } from '../../path/glob.ts'
import { found, NONE, UNKNOWN, type Meter, type Search } from '../meter.ts'
import { formatSample, jointSample, samplePath } from './sample-path.ts'

/** Steps of one search; the longest that one question may hold up the others. */
const SEARCH_BUDGET = 400_000
/** What a search usually takes, since it does not tell. */
const USUAL_STEPS = 500

/**
 * A canonical path that `inside` and, when given, `within` match and none of `outside` does. Exact;
 * see `findPath`. Nearly always a guess will do, which is a hundred times as fast.
 */
export function findInPaths(
  [inside, within]: readonly [Segments, Segments | null],
  outside: readonly Segments[],
  meter: Meter,
): Search<string> {
  if (!meter.spend(outside.length + 1)) return UNKNOWN
  const inAll = within === null ? [inside] : [inside, within]
  const guesses = within === null ? [samplePath(inside)] : jointSamples(inside, within)
  for (const guess of guesses)
    if (guess !== null && isAnswer(guess, inAll, outside)) return found(formatSample(guess))
  if (!meter.spend(USUAL_STEPS)) return UNKNOWN
  const result = findPath({ inAll, inNone: outside }, SEARCH_BUDGET)
  if (result.kind === 'found') return found(result.path)
  if (result.kind === 'none') return NONE
  meter.spend(SEARCH_BUDGET)
  return UNKNOWN
}

/** Paths that two patterns may have in common. */
function jointSamples(a: Segments, b: Segments): readonly (GlobPath | null)[] {
  return [samplePath(a), samplePath(b), jointSample(a, b), jointSample(b, a)]
}

function isAnswer(
  path: GlobPath,
  inside: readonly Segments[],
  outside: readonly Segments[],
): boolean {
  return (
    inside.every((pattern) => globMatches(pattern, path)) &&
    !outside.some((pattern) => globMatches(pattern, path))
  )
}
