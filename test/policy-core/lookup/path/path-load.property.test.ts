import { pathCost, pathLoad, sumPathLoads, type PathLoad } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsePath } from '../../../../packages/policy-core/src/path/path.ts'
import { foldSegment } from '../../../../packages/policy-core/src/path/glob.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../every-case.ts'
import { groupsOf, matchesByTrial, manyPatterns, somePaths, somePatterns } from './patterns.ts'
import { createWalker, type Walked } from './walked.ts'

/** Patterns of few names and globs, which share long parts. */
function hostilePatterns(): fc.Arbitrary<string[]> {
  const place = fc.oneof(
    fc.constantFrom('a', 'b', 'A', 'ab', '*a*', '*b*', '*a*b*', 'a*', '*b', '*', 'x', 'a*b'),
    fc
      .array(fc.constantFrom('a', 'b', 'ab', 'ba', '*', '*'), { minLength: 1, maxLength: 9 })
      .map((all) => all.join('').replaceAll(/\*+/g, '*')),
  )
  const part = fc.oneof(
    { weight: 2, arbitrary: place },
    { weight: 1, arbitrary: fc.constant('**') },
  )
  const pattern = fc.array(part, { minLength: 1, maxLength: 12 }).map((all) => `/${all.join('/')}`)
  return fc.array(pattern, { minLength: 1, maxLength: 150 })
}

/**
 * All combinations of a few parts over several positions, so that one path meets as many as
 * possible.
 */
function everyPattern(): fc.Arbitrary<string[]> {
  const part = fc.constantFrom(
    'a',
    'b',
    'ab',
    '*',
    '**',
    '*a*',
    '*b*',
    'a*',
    '*ab*',
    '*a*b*',
    '*ba',
  )
  const parts = fc.uniqueArray(part, { minLength: 1, maxLength: 3 })
  return fc
    .array(parts, { minLength: 1, maxLength: 6 })
    .map((places) =>
      places.reduce<string[]>(
        (all, choices) => all.flatMap((start) => choices.map((end) => `${start}/${end}`)),
        [''],
      ),
    )
    .map((all) => all.slice(0, 400))
}

/**
 * Globs of parts of one text, in one or two pieces or more, that match within one name of the path.
 */
function everyGlob(): fc.Arbitrary<string[]> {
  const cut = fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 1, max: 12 }))
  const frame = fc.constantFrom('/**/@/**', '/@', '/**/@', '/**/@/x/**', '/**/x/@/**', '/x/**/@/y')
  return fc
    .tuple(frame, fc.array(fc.array(cut, { minLength: 1, maxLength: 3 }), { maxLength: 200 }))
    .map(([given, globs]) =>
      globs.map((cuts) => {
        const pieces = cuts.map(([from, length]) => LONG_NAME.slice(from, from + length))
        return given.replace('@', `*${pieces.join('*')}*`)
      }),
    )
    .map((all) => [...all, '/**/x'])
}

/** Steps that any path takes, some per name, whatever the patterns. */
const STEPS_OF_PATH = 3 * 4_096

const MANY_PIECES = Array.from({ length: 187 }, (_, at) => String.fromCodePoint(0x100 + at)).join(
  '',
)

const LONG_NAME = 'abcabdacbabbacaddabcdabacabbaabcacbad'

function hostilePaths(): fc.Arbitrary<string> {
  const names = fc.array(
    fc.constantFrom('a', 'b', 'A', 'ab', 'ba', 'abab', 'x', LONG_NAME, 'ab'.repeat(20)),
    { minLength: 1, maxLength: 6 },
  )
  return fc.tuple(names, fc.integer({ min: 1, max: 2_000 }), names).map(([start, times, end]) => {
    const most = Math.floor((4_095 - end.join('/').length) / (start.join('/').length + 1))
    return `/${[...Array(Math.min(times, most)).fill(start.join('/')), ...end].join('/')}`
  })
}

const CASES = [
  { kind: 'hostile', patterns: hostilePatterns(), paths: hostilePaths(), runs: 400 },
  { kind: 'every pattern', patterns: everyPattern(), paths: hostilePaths(), runs: 200 },
  { kind: 'every glob', patterns: everyGlob(), paths: hostilePaths(), runs: 200 },
  { kind: 'ordinary', patterns: somePatterns(40), paths: somePaths(), runs: 1_000 },
  { kind: 'many', patterns: manyPatterns(2_000), paths: somePaths(), runs: 30 },
]

test.each(CASES)(
  'a walk finds the same as a scan of all patterns within its bound: $kind',
  ({ patterns, paths, runs }) => {
    const cases = fc.tuple(patterns, fc.array(paths, { minLength: 8, maxLength: 8 }))

    everyCase({ runs, casesPerRun: 8 }, cases, ([texts, requests]) => {
      const groups = groupsOf(texts)
      const most = STEPS_OF_PATH + pathCost(loadOf(texts))
      const folded = groups.map((each) => ({ ...each, segments: each.segments.map(foldSegment) }))
      const plain = createWalker(groups)
      const insensitive = createWalker(folded)
      for (const path of requests.flatMap(canonical)) {
        const walked = plain.walk(path)
        expect(walked.groups, path).toEqual(matchesByTrial(groups, path))
        expect(stepsOf(walked), path).toBeLessThanOrEqual(most)
        expect(stepsOf(insensitive.walk(path.toLowerCase()))).toBeLessThanOrEqual(most)
      }
    })
  },
  LAW_TIMEOUT_MS,
)

/** Pieces of a text in which no eight characters repeat. */
const PIECES = Array.from({ length: 180 }, (_, at) => MANY_PIECES.slice(at, at + 8))
const WORDS = [...'abcdefghijklmnopqrstuvwxyz']

function repeated(names: readonly string[]): string {
  const once = `/${names.join('/')}`
  return once.repeat(Math.floor(4_096 / once.length))
}

const NEAR: { kind: string; patterns: readonly string[]; path: string; share: number }[] = [
  {
    kind: 'pieces of one length, all in one name',
    patterns: PIECES.map((piece) => `/**/*${piece}*/**`),
    path: repeated([MANY_PIECES]),
    share: 0.6,
  },
  {
    kind: 'two pieces, of which one is the same',
    patterns: PIECES.map((piece) => `/**/*${piece}*z*/**`),
    path: repeated([`${MANY_PIECES}z`]),
    share: 0.5,
  },
  {
    kind: 'names and any names between two `**`',
    patterns: shapes(6).map((names) => `/**/${names.join('/')}/x/**`),
    path: repeated(['a']),
    share: 0.2,
  },
  {
    kind: 'folders of one length, all in one path',
    patterns: Array.from({ length: 600 }, (_, at) => `/**/${at + 1_000}/**`),
    path: `/${Array.from({ length: 600 }, (_, at) => at + 1_000).join('/')}`,
    share: 0.5,
  },
  {
    kind: 'two folders of a few',
    patterns: WORDS.flatMap((a) => WORDS.map((b) => `/**/${a}/**/${b}/**`)),
    path: repeated(WORDS),
    share: 0.4,
  },
  {
    kind: 'beginnings and endings',
    patterns: Array.from(
      { length: 400 },
      (_, at) => `/**/${'a'.repeat(1 + (at % 20))}*${'a'.repeat(1 + Math.floor(at / 20))}/**`,
    ),
    path: repeated(['a'.repeat(40)]),
    share: 0.2,
  },
]

/** All lists of `length` segments, each `a` or `*`, that begin with `a`. */
function shapes(length: number): string[][] {
  if (length === 1) return [['a']]
  return shapes(length - 1).flatMap((names) => [
    [...names, 'a'],
    [...names, '*'],
  ])
}

test.each(NEAR)(
  'the bound is close to the cost of the worst path: $kind',
  ({ patterns, path, share }) => {
    const groups = groupsOf(patterns)
    const steps = stepsOf(createWalker(groups).walk(path))
    const most = pathCost(loadOf(patterns))

    expect(steps).toBeLessThanOrEqual(STEPS_OF_PATH + most)
    expect(steps).toBeGreaterThan(share * most)
  },
)

test('the bound of two sets is at most the sum of their bounds', () => {
  const cases = fc.tuple(hostilePatterns(), hostilePatterns())

  everyCase({ runs: 500 }, cases, ([one, other]) => {
    const [a, b, both] = [loadOf(one), loadOf(other), loadOf([...one, ...other])]
    expect(pathCost(both)).toBeLessThanOrEqual(pathCost(a) + pathCost(b))
    expect(pathCost(sumPathLoads([a, b]))).toBe(pathCost(both))
  })
})

function loadOf(resources: readonly string[]): PathLoad {
  return pathLoad([{ actions: ['read'], resources }])
}

/** Weighs visits, finds and listed matches as the bound does. */
function stepsOf({ steps, visits, found, groups }: Walked): number {
  return steps + visits * 7 + found * 8 + groups.length * 19
}

function canonical(path: string): string[] {
  const read = parsePath(path)
  return read.ok && read.value !== '/' ? [read.value] : []
}
