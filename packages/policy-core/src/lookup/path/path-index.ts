import { runSteps, type Steps } from '../../steps.ts'
import type { MatchSet } from '../match-set.ts'
import { CharAutomaton } from './char-automaton.ts'
import { createMatchSets } from './match-sets.ts'
import { labelPatterns, type PathGroup } from './pattern-labels.ts'
import { PATH_LIMITS, type PathLimits } from './path-limits.ts'
import { PathWalk } from './path-walk.ts'
import { START, createPatternStates } from './pattern-states.ts'
import { buildPatternTrie } from './pattern-trie.ts'
import { SegmentAutomaton } from './segment-automaton.ts'
import { buildWalkParts } from './walk-parts.ts'

export type { PathGroup }

export interface PathIndex {
  /**
   * The match set of the path. Equal sets of groups are mostly the same object. Returns null unless
   * the text is plainly a canonical path: if it is relative or too long, or has an empty, `.` or
   * `..` segment, a trailing `/`, a non-ASCII character, a control character or `*`. Callers then
   * use `parsePath` and `findCanonical`.
   */
  find(path: string): MatchSet | null
  /** Like `find`, for a result of `parsePath`, folded like the patterns. */
  findCanonical(path: string): MatchSet
}

/**
 * Builds an index of patterns. Its automata are extended as paths arrive and are kept within
 * `limits`. An index without patterns is built at first use, because running this code for the
 * first time would slow down small compilations. bench: decide/compile
 */
export function* buildPathIndex(
  groups: readonly PathGroup[],
  flagsOf: (group: number) => number,
  limits: PathLimits = PATH_LIMITS,
): Steps<PathIndex> {
  if (groups.length > 0) return yield* build(groups, flagsOf, limits)
  let empty: PathIndex | null = null
  const index = (): PathIndex => (empty ??= runSteps(build(groups, flagsOf, limits)))
  return {
    find: (path) => index().find(path),
    findCanonical: (path) => index().findCanonical(path),
  }
}

function* build(
  groups: readonly PathGroup[],
  flagsOf: (group: number) => number,
  limits: PathLimits,
): Steps<PathIndex> {
  const patterns = yield* labelPatterns(groups)
  const trie = yield* buildPatternTrie(patterns)
  yield
  const parts = yield* buildWalkParts(patterns)
  yield
  const walk = new PathWalk(parts)
  const matchSets = createMatchSets(trie, flagsOf, limits)
  const deps = { trie, walk, matchSets }
  const states = createPatternStates(deps, limits)
  const automaton = new SegmentAutomaton(trie, states, limits)
  let chars = isSmall(groups, limits)
    ? new CharAutomaton(trie, createPatternStates(deps, limits), limits)
    : null
  if (chars?.isFull() === true) chars = null

  const find = (path: string): MatchSet | null => {
    if (chars === null) return automaton.find(path)
    const found = chars.find(path)
    if (found !== undefined) return found
    if (chars.isFull()) chars = null
    return automaton.find(path)
  }
  return {
    find,
    findCanonical(path) {
      if (path === '/') return states.matches(START)
      return find(path) ?? automaton.findCanonical(path)
    },
  }
}

/** Whether a table by characters may be worth its memory. */
function isSmall(groups: readonly PathGroup[], limits: PathLimits): boolean {
  if (groups.length > limits.charPatterns) return false
  let length = 0
  for (const { segments } of groups) {
    for (const segment of segments)
      length += 'recursive' in segment ? 1 : segment.pieces.join('/').length + 1
  }
  return length <= limits.charTexts
}
