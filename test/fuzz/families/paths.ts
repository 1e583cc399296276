import { FILESYSTEM_ACTIONS } from '@palisade/policy-core'
import type { Random } from '../../../bench/src/workload/random.ts'
import { drawMany, pathRules, type Family } from '../family.ts'
import { respellPath } from '../spellings.ts'

/** Up to 24 `**` between the same two names, with requests of up to 400 such segments. */
const doubleStars: Family = {
  name: 'double stars',
  maxResources: 40,
  effort: 150,
  draw(random, count) {
    const pattern = (): string =>
      drawMany(1 + random.integer(24), () => `/**/${random.pick(['a', 'a', 'b'])}`).join('') +
      random.pick(['', '/**', '/z'])
    return {
      rules: pathRules(random, drawMany(count, pattern)),
      ask: () => path(random, segments(random, random.integer(400), ['a', 'a', 'a', 'b', 'z'])),
    }
  },
}

/** "The n-th segment from the end is a": a subset automaton needs 2^n states for each. */
const growingAutomata: Family = {
  name: 'growing automata',
  maxResources: 2000,
  draw(random, count) {
    const names = ['a', 'b', 'c', 'd']
    const pattern = (): string =>
      `/**/${random.pick(names)}${'/*'.repeat(random.integer(14))}` +
      random.pick(['', '/**/b', '/a*'])
    return {
      rules: pathRules(random, drawMany(count, pattern)),
      ask: () => path(random, segments(random, 1 + random.integer(24), names)),
    }
  },
}

/** Several `*` inside one segment, with requests of the same few letters. */
const starredSegments: Family = {
  name: 'starred segments',
  maxResources: 5000,
  draw(random, count) {
    const piece = (): string => random.pick(['a', 'b', 'ab', '*', '*', '.', 'a*b*a'])
    const segment = (): string =>
      drawMany(1 + random.integer(4), piece)
        .join('')
        .replaceAll(/\*+/g, '*')
    const pattern = (): string =>
      `/${random.pick(['d', 'd/**', '*'])}/${segment()}${random.pick(['', '', '/**', '/x'])}`
    const name = (): string =>
      drawMany(1 + random.integer(9), () => random.pick('ab.'.split(''))).join('')
    return {
      rules: pathRules(
        random,
        drawMany(count, pattern).filter((each) => !/\/\.{1,2}(?:\/|$)/.test(each)),
      ),
      ask: () => path(random, ['d', ...drawMany(1 + random.integer(3), name)]),
    }
  },
}

/** Thousands of names in one folder, beside wildcards that match all of them. */
const oneFolder: Family = {
  name: 'one folder',
  maxResources: 50_000,
  draw(random, count) {
    const name = (): string => `file-${random.integer(2 * count).toString(36)}`
    const wide = ['/srv/data/*', '/srv/data/**', '/srv/data/file-*', '/srv/*/file-1', '/**/file-2']
    return {
      rules: pathRules(random, [
        ...drawMany(count - 2, () => `/srv/data/${name()}${random.pick(['', '', '/**', '/x'])}`),
        ...drawMany(Math.min(2, count), () => random.pick(wide)),
      ]),
      ask: () => path(random, ['srv', 'data', name(), ...random.pick([[], ['x'], ['y', 'z']])]),
    }
  },
}

/** Nested folders with one pattern each, up to the longest valid path. */
const nestedFolders: Family = {
  name: 'nested folders',
  maxResources: 1000,
  effort: 12,
  draw(random, count) {
    const depth = Math.min(500, 8 + count)
    const folder = (): string[] => segments(random, 1 + random.integer(depth), ['a', 'a', 'a', 'b'])
    const pattern = (): string =>
      `/${folder().join('/')}${random.pick(['', '/*', '/**', '/*.md', '/**/c'])}`
    return {
      rules: pathRules(random, drawMany(count, pattern)),
      ask: () => path(random, [...folder(), ...random.pick([[], ['c'], ['x.md']])]),
    }
  },
}

/** Letters with more than two case variants, with and without case sensitivity. */
const letterCase: Family = {
  name: 'letter case',
  maxResources: 5000,
  draw(random, count) {
    const letters = [
      ...'aAsSkKiI',
      '\u017f', // long s
      '\u00df', // sharp s
      '\u1e9e', // capital sharp s
      '\u03c3', // sigma
      '\u03c2', // final sigma
      '\u212a', // Kelvin sign
      '\u0130', // I with dot
      '\u0131', // i without dot
      '\u01c5', // title case
      '\u{10428}', // Deseret, beyond the first plane
    ]
    const name = (): string => drawMany(1 + random.integer(3), () => random.pick(letters)).join('')
    const pattern = (): string =>
      `${random.pick(['', '', '~'])}/${name()}/${random.pick(['', '*', '**/'])}${name()}`
    return {
      rules: pathRules(random, drawMany(count, pattern)),
      settings: { caseSensitive: random.next() < 0.3, home: '/A/S' },
      ask: () => path(random, [...random.pick([[], ['a', 's']]), name(), name()]),
    }
  },
}

/** Characters that are syntax in other pattern languages, and `~` in every position. */
const literalSigns: Family = {
  name: 'literal signs',
  maxResources: 5000,
  draw(random, count) {
    const names = ['[a]', '{a,b}', '?', '!a', '+(a)', '@', '\\', '~', '...', 'a b', '$', '^', '|']
    const asked = [...names, 'a', 'b', 'x', '..', '']
    const pattern = (): string =>
      `${random.pick(['', '~'])}/${segments(random, 1 + random.integer(3), names).join('/')}` +
      random.pick(['', '/*', '/**', '*'])
    return {
      rules: pathRules(random, drawMany(count, pattern)),
      settings: { home: random.pick(['/home/dev', '/[a]', '/~']) },
      ask: () => path(random, segments(random, 1 + random.integer(4), asked)),
    }
  },
}

export const PATH_FAMILIES: readonly Family[] = [
  doubleStars,
  growingAutomata,
  starredSegments,
  oneFolder,
  nestedFolders,
  letterCase,
  literalSigns,
]

function path(random: Random, parts: readonly string[]): object {
  const text = `/${parts.join('/')}`
  return {
    action: random.pick(['read', ...FILESYSTEM_ACTIONS]),
    path: random.next() < 0.25 ? respellPath(random, text) : text,
  }
}

function segments(random: Random, count: number, from: readonly string[]): string[] {
  return drawMany(count, () => random.pick(from))
}
