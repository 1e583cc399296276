import { expect, test } from 'vitest'
import { groupsOf } from './patterns.ts'
import { createWalker } from './walked.ts'

/** The steps for a path, and the number of matching patterns. */
function cost(patterns: readonly string[], path: string): { steps: number; matches: number } {
  const { steps, visits, groups } = createWalker(groupsOf(patterns)).walk(path)
  return { steps: steps + visits, matches: groups.length }
}

function range(length: number, of: (index: number) => string): string[] {
  return Array.from({ length }, (_, index) => of(index))
}

/** All words of `length` letters out of two, joined by `between`. */
function words(length: number, between: string): string[] {
  return range(2 ** length, (bits) =>
    Array.from({ length }, (_, at) => ((bits >> at) & 1 ? 'a' : 'b')).join(between),
  )
}

const LONG = '/a'.repeat(2_000)

test.each([
  ['nine `**`', [`/${'**/a/'.repeat(9)}z`], LONG, 0, 10_000],
  ['24 `**`', [`/${'**/a/'.repeat(24)}z`], '/a'.repeat(400), 0, 10_000],
  ['prefixes with `**`', range(2_000, (k) => `${'/a'.repeat(k + 1)}/**/x`), LONG, 0, 10_000],
  ['prefixes that match', range(2_000, (k) => `${'/a'.repeat(k)}/**`), LONG, 2_000, 10_000],
  ['`**/*`', range(1_900, (k) => `${'/a'.repeat(k + 1)}/**/*/x`), LONG, 0, 10_000],
  [
    'loops of one long chunk',
    words(10, '/**/').map((w) => `/**/${w}/**/a/a/x/**`),
    LONG,
    0,
    15_000,
  ],
  ['`**` and then a name', range(25_000, (k) => `/**/x${k}/y`), LONG, 0, 10_000],
  ['a name, `**` and a name', range(25_000, (k) => `/a/**/p${k}/**`), LONG, 0, 40_000],
  ['globs of one name', range(25_000, (k) => `/**/*x${k}*/y`), '/ax17b'.repeat(600), 0, 60_000],
  ['globs by end', range(25_000, (k) => `/d/*${k}z`), `/d/${'1'.repeat(4_000)}z`, 5, 30_000],
])('the work is bounded for many patterns of one form: %s', (_, patterns, path, matches, most) => {
  const { steps, matches: found } = cost(patterns, path)

  expect(found).toBe(matches)
  expect(steps).toBeLessThan(most)
})

test('active loops are not visited at every step', () => {
  const patterns = words(10, '/**/').map((word) => `/**/${word}/**`)

  const { steps, matches } = cost(patterns, '/a/b'.repeat(1_000))

  // A visit of each loop at each segment would be 2,000 × 2,046 steps.
  expect(matches).toBe(1_024)
  expect(steps).toBeLessThan(20_000)
})

test('a pattern that ends after a loop matches only at the end of the path', () => {
  const patterns = range(40, (k) => `${'/p'.repeat(k + 1)}/**/a`)
  const start = '/p'.repeat(40)

  expect(cost(patterns, `${start}/a`).matches).toBe(40)
  expect(cost(patterns, `${start}/a/a/a`).matches).toBe(40)
  expect(cost(patterns, `${start}/a/a/b`).matches).toBe(0)
})

test('each common prefix of globs is searched for once in a name', () => {
  const patterns = words(10, '*').map((word) => `/*${word}*`)

  const { steps, matches } = cost(patterns, `/${'ab'.repeat(100)}`)

  // Separate searches for each glob would be ten thousand.
  expect(matches).toBe(1_024)
  expect(steps).toBeLessThan(25_000)
})
