import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsePath } from '../../../../packages/policy-core/src/path/path.ts'
import { foldSegment } from '../../../../packages/policy-core/src/path/glob.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../every-case.ts'
import { groupsOf, matchesByTrial, manyPatterns, somePaths, somePatterns } from './patterns.ts'
import { createWalker, type Walked } from './walked.ts'

/** Patterns that share everything but what keeps them apart, of few names and globs. */
function hostilePatterns(): fc.Arbitrary<string[]> {
  const place = fc.constantFrom('a', 'b', 'A', 'ab', '*a*', '*b*', '*a*b*', 'a*', '*b', '*', 'x')
  const part = fc.oneof(
    { weight: 2, arbitrary: place },
    { weight: 1, arbitrary: fc.constant('**') },
  )
  const pattern = fc.array(part, { minLength: 1, maxLength: 12 }).map((all) => `/${all.join('/')}`)
  return fc.array(pattern, { minLength: 1, maxLength: 150 })
}

function hostilePaths(): fc.Arbitrary<string> {
  const names = fc.array(fc.constantFrom('a', 'b', 'A', 'ab', 'ba', 'abab', 'x'), {
    minLength: 1,
    maxLength: 6,
  })
  return fc
    .tuple(names, fc.integer({ min: 1, max: 300 }), names)
    .map(([start, times, end]) => `/${[...Array(times).fill(start.join('/')), ...end].join('/')}`)
    .filter((path) => path.length <= 4_096)
}

const CASES = [
  { kind: 'hostile', patterns: hostilePatterns(), paths: hostilePaths(), runs: 400 },
  { kind: 'ordinary', patterns: somePatterns(40), paths: somePaths(), runs: 1_000 },
  { kind: 'many', patterns: manyPatterns(2_000), paths: somePaths(), runs: 30 },
]

test.each(CASES)(
  'a walk finds what trying every pattern finds, in no more steps than its bound: $kind',
  ({ patterns, paths, runs }) => {
    const cases = fc.tuple(patterns, fc.array(paths, { minLength: 8, maxLength: 8 }))

    everyCase({ runs, casesPerRun: 8 }, cases, ([texts, requests]) => {
      const groups = groupsOf(texts)
      const folded = groups.map((each) => ({ ...each, segments: each.segments.map(foldSegment) }))
      const plain = createWalker(groups)
      const insensitive = createWalker(folded)
      for (const path of requests.flatMap(canonical)) {
        const walked = plain.walk(path)
        expect(walked.groups, path).toEqual(matchesByTrial(groups, path))
        expect(stepsOf(walked), path).toBeLessThanOrEqual(plain.most)
        expect(stepsOf(insensitive.walk(path.toLowerCase()))).toBeLessThanOrEqual(plain.most)
      }
    })
  },
  LAW_TIMEOUT_MS,
)

test('the bound of two sets together is at most the sum of theirs', () => {
  const cases = fc.tuple(hostilePatterns(), hostilePatterns())

  everyCase({ runs: 500 }, cases, ([one, other]) => {
    const of = (texts: readonly string[]): number => createWalker(groupsOf(texts)).most
    expect(of([...one, ...other])).toBeLessThanOrEqual(of(one) + of(other))
  })
})

function stepsOf({ steps, visits, found }: Walked): number {
  return steps + visits * 7 + found * 8
}

function canonical(path: string): string[] {
  const read = parsePath(path)
  return read.ok && read.value !== '/' ? [read.value] : []
}
