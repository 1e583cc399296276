import { describe, expect, it } from 'vitest'
import { findPath } from '../../../packages/policy-core/src/language/find-path.ts'
import { placed } from './placed.ts'

function ask(inAll: readonly string[], inNone: readonly string[], budget?: number) {
  const question = {
    inAll: inAll.map((text) => placed(text)),
    inNone: inNone.map((text) => placed(text)),
  }
  return findPath(question, budget)
}

describe('findPath', () => {
  it.each([
    [['/data/**'], ['/data/*'], '/data'],
    [['/data/*'], ['/data/a*'], '/data/x'],
    [['/data/*.pem', '/data/key*'], [], '/data/key.pem'],
    [['/**'], ['/', '/*'], '/x/x'],
    [['/**/a/**', '/**/b/**'], ['/a/b', '/b/a'], '/x/a/b'],
    [[], [], '/'],
    [[], ['/'], '/x'],
    [['/x/*'], ['/x/y*'], '/x/z'],
    [['/ü*'], ['/ü'], '/üx'],
  ])('finds a path in %j and not in %j: %s', (inAll, inNone, path) => {
    expect(ask(inAll, inNone)).toEqual({ kind: 'found', path })
  })

  it.each([
    [['/data/*'], ['/data/**']],
    [['/a/**/b'], ['/a/**']],
    [['/a/*', '/b/*'], []],
    [[], ['/**']],
    [['/*'], ['/*a*', '/x*', '/*']],
    [['/**/a/**'], ['/**/a', '/**/a/**/*']],
  ])('finds no path in %j and not in %j', (inAll, inNone) => {
    expect(ask(inAll, inNone)).toEqual({ kind: 'none' })
  })

  it('never returns a path with a `.` or `..` segment', () => {
    expect(ask(['/*.'], [])).toEqual({ kind: 'found', path: '/x.' })
    expect(ask(['/.*.'], [])).toEqual({ kind: 'found', path: '/.x.' })
    expect(ask(['/.*'], ['/.x*'])).toEqual({ kind: 'found', path: '/.y' })
  })

  it('uses a rare letter when the patterns contain all common ones', () => {
    const easy = [...'xyzabcdefghijklmnopqrstuvw0123456789-_']

    const found = ask(
      ['/*'],
      easy.map((letter) => `/${letter}*`),
    )

    expect(found).toMatchObject({ kind: 'found', path: expect.stringMatching(/^\/.$/u) })
  })

  it('respects the limit of 4096 bytes', () => {
    const deep = (bytes: number) => `/${'a'.repeat(bytes - 2)}*`

    expect(ask([deep(4096)], []).kind).toBe('found')
    expect(ask([deep(4096)], [deep(4096).slice(0, -1)]).kind).toBe('found')
    expect(ask([deep(4097)], [deep(4097).slice(0, -1)]).kind).toBe('none')
    expect(ask([deep(4098)], []).kind).toBe('none')
  })

  it('answers unknown near 4096 bytes when folding may change the length', () => {
    expect(ask([`/${'ⱥ'.repeat(1366)}`], []).kind).toBe('unknown')
  })

  it('answers unknown when its budget is used up', () => {
    expect(ask(['/data/*'], ['/data/**'], 5)).toEqual({ kind: 'unknown' })
  })

  it('is bounded where the automaton is exponential', () => {
    const stars = '/*'.repeat(200)
    const startMs = performance.now()

    const found = ask([`/**/a${stars}`, `/**/b${stars}`], [`/**/c${stars}`])

    expect(found).toEqual({ kind: 'unknown' })
    expect(performance.now() - startMs).toBeLessThan(10_000)
  })
})
