import { describe, expect, it } from 'vitest'
import { parsePathPattern } from '../../../packages/policy-core/src/pattern/path-pattern.ts'
import { everyText } from '../every-text.ts'

/** The syntax of patterns, forbidden characters, and a letter of each further kind. */
const CHARACTERS = ['/', '.', '*', '~', 'a', '-', 'é', '\n']

describe('parsePathPattern', () => {
  it('accepts exactly the grammar among all texts of up to six characters', () => {
    const wrong: string[] = []
    let taken = 0
    for (const text of everyText(CHARACTERS, 6)) {
      const { ok } = parsePathPattern(text)
      if (ok !== isInGrammar(text)) wrong.push(text)
      if (ok) taken += 1
    }
    expect(wrong).toEqual([])
    expect(taken).toBeGreaterThan(10_000)
  })

  it.each([
    ['/data/**.pem', '`**/*.pem` for any depth, `*.pem` for one name'],
    ['/data/a**', '`**` must be a whole segment'],
    ['/data/***', '`**` must be a whole segment'],
    ['', 'the resource is empty; write an absolute path'],
    ['C:\\x', 'is a Windows path'],
    ['*:\\x', 'is a Windows path'],
    ['\\\\wsl.localhost\\Debian\\x', 'is a Windows path'],
    ['file:///etc', 'is a URL; write the path alone'],
    ['~user/x', 'the home directory of another user; write `~/`'],
    ['$HOME/x', 'names a variable, which rules do not expand; write `~/`'],
    ['**/*.pem', 'is not absolute; write `/**/*.pem`'],
    ['x/y', 'is not absolute; write a path that starts with `/`'],
  ])('suggests a correction for %j', (text, meant) => {
    const read = parsePathPattern(text)

    expect(read.ok ? '' : read.message).toContain(meant)
  })

  it('accepts a name of any length', () => {
    expect(parsePathPattern(`/${'a'.repeat(20_000_000)}`).ok).toBe(true)
  })
})

/**
 * A second statement of the grammar: absolute or below `~`, no control characters, and the allowed
 * forms of a segment.
 */
function isInGrammar(text: string): boolean {
  if (text === '/' || text === '~') return true
  const [first = '', ...segments] = text.split('/')
  if (segments.length === 0 || !['', '~'].includes(first)) return false
  return segments.every(
    (segment) =>
      !['', '.', '..'].includes(segment) &&
      !segment.includes('\n') &&
      (segment === '**' || !segment.includes('**')),
  )
}
