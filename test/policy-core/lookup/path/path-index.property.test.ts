import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type {
  PathGroup,
  PathIndex,
} from '../../../../packages/policy-core/src/lookup/path/path-index.ts'
import { parsePath } from '../../../../packages/policy-core/src/path/path.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../every-case.ts'
import {
  flagsOf,
  groupsIn,
  groupsOf,
  indexOf,
  manyPatterns,
  matchesByTrial,
  somePaths,
  somePatterns,
  TINY_LIMITS,
} from './patterns.ts'

const SIZES = [
  { size: 'a few', patterns: somePatterns(12), runs: 1_500, paths: 20 },
  { size: 'some hundred', patterns: manyPatterns(600), runs: 60, paths: 60 },
  // Enough runs that a list with few matching paths does not decide the shares.
  { size: '5,000', patterns: manyPatterns(5_000), runs: 40, paths: 30 },
]

test.each(SIZES)(
  'the index finds the same as a scan of all patterns, for $size patterns',
  ({ patterns, runs, paths }) => {
    const cases = fc.tuple(patterns, fc.array(somePaths(), { minLength: paths, maxLength: paths }))

    const seen = everyCase({ runs, casesPerRun: paths }, cases, ([texts, requests], tally) => {
      const groups = groupsOf(texts)
      const index = indexOf(groups)
      // Asks twice, because the second answers come from the cache.
      for (const path of [...requests, ...requests]) tally(checkPath(groups, index, path))
    })

    expect(seen.rarerThan({ 'plain match': 0.04, 'plain miss': 0.02, 'odd match': 0.005 })).toEqual(
      [],
    )
  },
  LAW_TIMEOUT_MS,
)

test.each(TINY_LIMITS)(
  'the answers are the same with limits as low as %j',
  (limits) => {
    const cases = fc.tuple(
      somePatterns(40),
      fc.array(somePaths(), { minLength: 40, maxLength: 40 }),
    )

    const seen = everyCase({ runs: 60, casesPerRun: 40 }, cases, ([texts, requests], tally) => {
      const groups = groupsOf(texts)
      const index = indexOf(groups, limits)
      for (const path of requests) tally(checkPath(groups, index, path))
    })

    expect(seen.rarerThan({ 'plain match': 0.05, 'plain miss': 0.02 })).toEqual([])
  },
  LAW_TIMEOUT_MS,
)

/** Compares the index with the reference for one path and returns the outcome. */
function checkPath(groups: readonly PathGroup[], index: PathIndex, path: string): string {
  const read = parsePath(path)
  const expected = read.ok ? matchesByTrial(groups, read.value) : null
  const found = index.find(path)
  const canonical = read.ok ? index.findCanonical(read.value) : null

  expect(groupsIn(found), path).toEqual(isPlain(path) ? expected : null)
  expect(groupsIn(canonical), path).toEqual(expected)
  const flags = (expected ?? []).reduce((all, group) => all | flagsOf(group), 0)
  expect(canonical?.flags ?? 0).toBe(flags)
  expect(found?.flags ?? flags).toBe(flags)
  return `${found === null ? 'odd' : 'plain'} ${flags === 0 ? 'miss' : 'match'}`
}

/** Whether `find` must answer a path: canonical, without `*`, only visible ASCII and spaces. */
function isPlain(path: string): boolean {
  const read = parsePath(path)
  return read.ok && read.value === path && /^[ -)+-~]+$/.test(path)
}
