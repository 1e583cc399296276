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
   * What matches the path; an equal set of groups is mostly the same object. Null when the text is
   * not plainly a canonical path: relative, too long, with an empty, `.` or `..` segment, a
   * trailing `/`, or a character that is no ASCII, a control or `*`. Then `parsePath` has to read
   * it, and `findCanonical` to match it.
   */
  find(path: string): MatchSet | null
  /** The same for a path that `parsePath` gave, folded as the patterns are. */
  findCanonical(path: string): MatchSet
}

/**
 * Builds an index of patterns. What it needs to read paths fast is worked out as paths come, and
 * kept within `limits`. One without patterns is built when it is first asked: most of a small first
 * compilation is code that has never run, and a quarter of that is this.
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
