import * as fc from 'fast-check'
import type { MatchSet } from '../../../../packages/policy-core/src/lookup/match-set.ts'
import {
  buildPathIndex,
  type PathGroup,
  type PathIndex,
} from '../../../../packages/policy-core/src/lookup/path/path-index.ts'
import {
  PATH_LIMITS,
  type PathLimits,
} from '../../../../packages/policy-core/src/lookup/path/path-limits.ts'
import { globMatches, readGlobPath } from '../../../../packages/policy-core/src/path/glob.ts'
import {
  parsePathPattern,
  resolvePattern,
} from '../../../../packages/policy-core/src/pattern/path-pattern.ts'
import { runSteps } from '../../../../packages/policy-core/src/steps.ts'

/** Converts distinct patterns to groups numbered from 0. */
export function groupsOf(
  patterns: readonly string[],
  home: readonly string[] = ['home', 'a*b'],
): readonly PathGroup[] {
  return [...new Set(patterns)].map((text, group) => {
    const pattern = parsePathPattern(text)
    if (!pattern.ok) throw new Error(pattern.message)
    const segments = resolvePattern(pattern.value, { home, caseSensitive: true })
    if (segments === null) throw new Error('a home is given')
    return { segments, group }
  })
}

export function flagsOf(group: number): number {
  return 1 << (group % 8)
}

export function indexOf(groups: readonly PathGroup[], limits: Partial<PathLimits> = {}): PathIndex {
  return runSteps(buildPathIndex(groups, flagsOf, { ...PATH_LIMITS, ...limits }))
}

/** The reference result: tries every pattern. */
export function matchesByTrial(groups: readonly PathGroup[], path: string): readonly number[] {
  const read = readGlobPath(path, true)
  return groups.filter(({ segments }) => globMatches(segments, read)).map(({ group }) => group)
}

export function groupsIn(set: MatchSet | null): readonly number[] | null {
  return set === null ? null : set.groups.toSorted((a, b) => a - b)
}

/** Stores so small that every path overflows one of them. */
export const TINY_LIMITS: readonly Partial<PathLimits>[] = [
  { charPatterns: 0, states: 3, missesUntilClear: 2 },
  { charPatterns: 0, transitions: 2, missesUntilClear: 3 },
  { charPatterns: 0, addedByPath: 1 },
  { charPatterns: 0, nodesOfState: 2 },
  { charPatterns: 0, stateNodes: 12, missesUntilClear: 4 },
  { charPatterns: 0, matchSets: 1, matchGroups: 2 },
  { charRows: 4, missesUntilClear: 2 },
  { charRows: 12, addedByPath: 3 },
  { charRows: 40, states: 3, missesUntilClear: 2 },
]

const NAMES = ['a', 'b', 'ab', 'aab', '.a', '...', '~', '[a]', 'a-long-name-of-a-folder', 'x.pem']
/** Names that are not plain and therefore have no code. */
const ODD_NAMES = ['\u00e9', 'a\u00e9b', '\ud83d\udcc1', '\u00fcber-a-long-name.pem']
const GLOBS = [
  '*',
  '*',
  'a*',
  '*b',
  '*a*b*',
  '.*',
  '*.pem',
  'a*-*',
  '*a*a*',
  'a*a',
  'ab*b',
  'a-*folder',
  '\u00e9*',
  '*\u00e9b',
]

/** Patterns of few names and positions, which share prefixes and match many of the paths. */
export function somePatterns(maxLength: number): fc.Arbitrary<string[]> {
  const part = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...NAMES, ...ODD_NAMES) },
    { weight: 3, arbitrary: fc.constantFrom(...GLOBS) },
    { weight: 2, arbitrary: fc.constant('**') },
  )
  const pattern = fc
    .tuple(fc.constantFrom('', '', '', '', '~'), fc.array(part, { maxLength: 6 }))
    .map(([start, parts]) => [start, ...parts].join('/') || '/')
  return fc.array(pattern, { minLength: 1, maxLength })
}

/** Draws `count` patterns, most of them in a few separate folders with shared names. */
export function manyPatterns(count: number): fc.Arbitrary<string[]> {
  return somePatterns(30).map((patterns) => {
    const roots = ['', '/aab/b', '/ab/a', '/**/...', '/a/*', '/*/x.pem']
    const more = Array.from({ length: count - patterns.length }, (_, index) => {
      const pattern = patterns[index % patterns.length]!.replace(/^~?\/?$|^~/, '/~')
      return `${roots[index % roots.length]!}/n${index % 7}${pattern}/m${index % 5}*${index}`
    })
    return [...patterns, ...more]
  })
}

/** Paths of the same names, including long and unusual ones. Not all are canonical or plain. */
export function somePaths(): fc.Arbitrary<string> {
  const name = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...NAMES, 'home', 'a-b', 'abab', 'xyz') },
    { weight: 2, arbitrary: fc.constantFrom(...ODD_NAMES, '\u00e9b', 'a*b') },
    { weight: 1, arbitrary: fc.constantFrom('a\u0007', '\u007f', 'a\ud800', '') },
    { weight: 1, arbitrary: fc.constantFrom('.', '..', '.a', '..a', '\0', 'a'.repeat(5_000)) },
  )
  return fc
    .tuple(
      fc.constantFrom('/', '/', '/', '/', '/', '/home/a*b/', ''),
      fc.array(name, { maxLength: 7 }),
    )
    .map(([start, names]) => start + names.join('/'))
}
