import { describe, expect, test } from 'vitest'
import { NameCode } from '../../../../packages/policy-core/src/lookup/path/name-code.ts'
import { groupsIn, groupsOf, indexOf, matchesByTrial } from './patterns.ts'

/** Both ways of reading a path: by name and by character. */
const READINGS = [
  { reading: 'by names', limits: { charPatterns: 0 } },
  { reading: 'by characters', limits: { charPatterns: 1_000_000, charTexts: 1_000_000 } },
]

function codeOf(name: string): string {
  const code = new NameCode()
  code.read(name, 0)
  return `${code.low} ${code.high}`
}

describe.each(READINGS)('an index that reads $reading', ({ limits }) => {
  test('returns equal sets of groups as the same object', () => {
    const index = indexOf(groupsOf(['/data/**', '/**/log', '/srv/*/log']), limits)

    expect(index.find('/data/a/log')).toBe(index.find('/data/b/c/log'))
    expect(index.findCanonical('/data/\u00e9/log')).toBe(index.find('/data/log'))
    expect(index.find('/nothing')).toBe(index.find('/else/where'))
    expect(index.find('/srv/a/log')).not.toBe(index.find('/data/log'))
  })

  test.each([
    ['/', ['/', '/**']],
    ['/data', ['/data', '/data/**', '/**', '/*', '/**/data', '/*/**', '/**/*']],
    ['/data/a', ['/data/**', '/**', '/data/*', '/*/**', '/**/*', '/*/**/*']],
  ])('finds the patterns that match %s by the grammar', (path, expected) => {
    const all = '/ /data /data/** /** /* /data/* /**/data /*/** /**/* /*/**/* /**/b'.split(' ')
    const index = indexOf(groupsOf(all), limits)

    expect(groupsIn(index.find(path))?.map((group) => all[group])).toEqual(
      all.filter((pattern) => expected.includes(pattern)),
    )
  })

  test.each([
    ['', 'x', 'x/a', '//', '/a//b', '/a/', '/.', '/..', '/a/.', '/a/./b', '/a/../b', '/../a'],
    [
      '/é',
      '/a\u007f',
      '/a\0',
      '/a\nb',
      '/*',
      '/a/b*',
      '/\ud800',
      '/\uff0f',
      `/${'a'.repeat(4096)}`,
    ],
    ['/dead/../a', '/dead/x/', '/dead//', '/dead/\u0130', '/settled/x/..', '/settled/x/\t'],
  ])('returns null for paths that are not plain: %j', (...paths) => {
    const index = indexOf(groupsOf(['/a/**', '/*/b', '/settled/**']), limits)

    expect(paths.map((path) => index.find(path))).toEqual(paths.map(() => null))
  })

  test('reads unusual plain paths of up to 4096 characters', () => {
    const index = indexOf(groupsOf(['/**']), limits)
    const paths = ['/.a', '/a.', '/...', '/..a', '/~', '/ ', '/a/...', `/${'a'.repeat(4095)}`]

    expect(paths.map((path) => groupsIn(index.find(path)))).toEqual(paths.map(() => [0]))
  })

  test('distinguishes names with equal codes', () => {
    const names = ['abcdefghi', '@abcdefghI', 'bcdefghijk', '`cdefghijj']
    expect(codeOf(names[0]!)).toBe(codeOf(names[1]!))
    expect(codeOf(names[2]!)).toBe(codeOf(names[3]!))

    for (const present of [[0], [1], [2], [3], [0, 1], [2, 3], [0, 1, 2, 3]]) {
      const groups = groupsOf(present.map((at) => `/x/${names[at]!}/**`))
      const index = indexOf(groups, limits)
      for (const name of [...names, ...names.toReversed()]) {
        const path = `/x/${name}/y`
        expect(groupsIn(index.find(path)), path).toEqual(matchesByTrial(groups, path))
      }
    }
  })

  test('distinguishes names that differ by spaces', () => {
    const names = ['a', ' a', 'a ', 'a a', '\u00a0a']
    const groups = groupsOf(names.map((name) => `/d/${name}`))
    const index = indexOf(groups, limits)

    const found = names.map((name) => groupsIn(index.findCanonical(`/d/${name}`)))
    expect(found).toEqual(names.map((_, at) => [at]))
  })

  test('distinguishes names that are not plain from names of one letter', () => {
    const letters = Array.from('abcdefghijklmnopqrstuvwxyz')
    const odd = Array.from({ length: 200 }, (_, index) => `\u00e9${index}`)
    const names = [...letters, ...odd]
    const groups = groupsOf(names.map((name) => `/d/${name}`))

    for (const asked of [names, names.toReversed()]) {
      const index = indexOf(groups, limits)
      const found = asked.map((name) => groupsIn(index.findCanonical(`/d/${name}`)))
      expect(found).toEqual(asked.map((name) => [names.indexOf(name)]))
    }
  })

  test('gives the same answers whatever the earlier requests', () => {
    const groups = groupsOf(['/a/**/b', '/a/*/c*', '/**/x.*', '/a/b/c', '/**/b/**'])
    const paths = ['/a/b', '/a/b/c', '/a/x/c1', '/q/x.y', '/a/b/b/x.', '/b', '/a', '/c/b/a/b']
    const expected = paths.map((path) => matchesByTrial(groups, path))

    for (const seed of [1, 3, 5, 7]) {
      const index = indexOf(groups, { ...limits, addedByPath: seed })
      for (let turn = 0; turn < 40; turn += 1) {
        const at = (turn * seed) % paths.length
        expect(groupsIn(index.find(paths[at]!))).toEqual(expected[at])
      }
    }
  })

  test('finds one of thousands of names in one folder', () => {
    const groups = groupsOf(Array.from({ length: 5_000 }, (_, index) => `/d/file-number-${index}`))
    const index = indexOf(groups, limits)

    for (const at of [0, 1, 77, 4_999]) {
      expect(groupsIn(index.find(`/d/file-number-${at}`))).toEqual([at])
    }
    expect(groupsIn(index.find('/d/file-number-5000'))).toEqual([])
  })
})

test('few patterns with more prefixes than a row holds are matched nevertheless', () => {
  const groups = groupsOf(Array.from({ length: 150 }, (_, index) => `/*n${index}*a*/b`))
  const index = indexOf(groups, { charPatterns: 200 })

  expect(groupsIn(index.find('/xn12-a/b'))).toEqual([1, 12])
  expect(groupsIn(index.find('/xn12-/b'))).toEqual([])
  expect(index.find('/xn12-a/..')).toBeNull()
})

test('patterns with the same meaning are found together', () => {
  const index = indexOf(groupsOf(['/a/**/*', '/a/*/**', '/a/**/**/*', '/a/**/*/**']))

  expect(groupsIn(index.find('/a/b/c'))).toEqual([0, 1, 2, 3])
  expect(groupsIn(index.find('/a'))).toEqual([])
})

test('two indices share no state', () => {
  const groups = groupsOf(['/a/**', '/a/b'])
  const first = indexOf(groups)
  const second = indexOf(groups)

  expect(first.find('/a/b')).not.toBe(second.find('/a/b'))
  expect(groupsIn(first.find('/a/b'))).toEqual(groupsIn(second.find('/a/b')))
})

test('an index without patterns matches no path', () => {
  const index = indexOf([])

  expect(groupsIn(index.find('/'))).toEqual([])
  expect(groupsIn(index.find('/a/b'))).toEqual([])
  expect(index.find('/a/..')).toBeNull()
})
