import { expect, test } from 'vitest'
import { createGlobFinder } from '../../../../packages/policy-core/src/lookup/path/glob-finder.ts'
import { buildPatternTrie } from '../../../../packages/policy-core/src/lookup/path/pattern-trie.ts'
import { PatternWalk } from '../../../../packages/policy-core/src/lookup/path/pattern-walk.ts'
import { groupsOf } from './patterns.ts'

/** Nodes and pieces looked at on the whole path, and how many patterns match. */
function cost(patterns: readonly string[], path: string): { visits: number; matches: number } {
  const trie = buildPatternTrie(groupsOf(patterns))
  const walk = new PatternWalk(trie)
  const globs = createGlobFinder(trie.labels.globs)
  const names = path.slice(1).split('/')

  walk.start(Int32Array.from(trie.loop[0] === -1 ? [0] : [0, trie.loop[0]!]))
  for (const [index, name] of names.entries()) {
    const literal = trie.labels.literals.get(name)
    const labels = literal === undefined ? [] : [literal]
    globs.find(name, labels)
    walk.step(labels, index === names.length - 1)
  }
  const nodes = new Int32Array(trie.size)
  const active = nodes.subarray(0, walk.collect(nodes))
  const matches = [...active].map((node) => trie.groupStart[node + 1]! - trie.groupStart[node]!)
  return {
    visits: walk.visits + globs.visits(),
    matches: matches.reduce((sum, count) => sum + count, 0),
  }
}

function range(length: number, of: (index: number) => string): string[] {
  return Array.from({ length }, (_, index) => of(index))
}

/** All words of two letters, put together with `between`. */
function words(length: number, between: string): string[] {
  return range(2 ** length, (bits) =>
    Array.from({ length }, (_, at) => ((bits >> at) & 1 ? 'a' : 'b')).join(between),
  )
}

const LONG = '/a'.repeat(2_000)

test.each([
  ['nine `**`', [`/${'**/a/'.repeat(9)}z`], LONG, 0, 40_000],
  ['24 `**`', [`/${'**/a/'.repeat(24)}z`], '/a'.repeat(400), 0, 30_000],
  ['beginnings with `**`', range(2_000, (k) => `${'/a'.repeat(k + 1)}/**/x`), LONG, 0, 10_000],
  ['beginnings that match', range(2_000, (k) => `${'/a'.repeat(k)}/**`), LONG, 2_000, 10_000],
  ['`**/*`', range(1_900, (k) => `${'/a'.repeat(k + 1)}/**/*/x`), LONG, 0, 20_000],
  ['`**` and then a name', range(25_000, (k) => `/**/x${k}/y`), LONG, 0, 10_000],
  ['a name, `**` and a name', range(25_000, (k) => `/a/**/p${k}/**`), LONG, 0, 10_000],
  ['globs of one name', range(25_000, (k) => `/**/*x${k}*/y`), '/ax17b'.repeat(600), 0, 60_000],
  ['globs by end', range(25_000, (k) => `/d/*${k}z`), `/d/${'1'.repeat(4_000)}z`, 5, 30_000],
])('the work is bounded for many patterns of one form: %s', (_, patterns, path, matches, most) => {
  const { visits, matches: found } = cost(patterns, path)

  expect(found).toBe(matches)
  expect(visits).toBeLessThan(most)
})

test('loops that are reached stay without being visited at every step', () => {
  const patterns = words(10, '/**/').map((word) => `/**/${word}/**`)

  const { visits, matches } = cost(patterns, '/a/b'.repeat(1_000))

  // 2,000 segments times 2,046 loops would be 4 million.
  expect(matches).toBe(1_024)
  expect(visits).toBeLessThan(60_000)
})

test('what ends below a loop matches at the end of the path, as often as it came before', () => {
  const patterns = range(40, (k) => `${'/p'.repeat(k + 1)}/**/a`)
  const start = '/p'.repeat(40)

  expect(cost(patterns, `${start}/a`).matches).toBe(40)
  expect(cost(patterns, `${start}/a/a/a`).matches).toBe(40)
  expect(cost(patterns, `${start}/a/a/b`).matches).toBe(0)
})

test('each beginning of globs is looked for once in a name', () => {
  const patterns = words(10, '*').map((word) => `/*${word}*`)

  const { visits, matches } = cost(patterns, `/${'ab'.repeat(100)}`)

  // Each glob for itself would be ten thousand searches.
  expect(matches).toBe(1_024)
  expect(visits).toBeLessThan(7_000)
})

test('marks begin anew before they outgrow their array, and no old one counts', () => {
  const trie = buildPatternTrie(groupsOf(['/a/b/**', '/**/c']))
  const a = trie.labels.literals.get('a')!
  const b = trie.labels.literals.get('b')!
  const walk = new PatternWalk(trie, 3)
  const into = new Int32Array(trie.size)
  const walkAlong = (labels: readonly number[]): number => {
    walk.start(Int32Array.of(0, trie.loop[0]!))
    for (const label of labels) walk.step([label], false)
    return walk.collect(into)
  }

  for (let turn = 0; turn < 8; turn += 1) {
    expect(walkAlong([a, b])).toBe(3)
    expect(walkAlong([b])).toBe(1)
    expect(walkAlong([a, a])).toBe(1)
    expect(walkAlong([])).toBe(2)
  }
})
