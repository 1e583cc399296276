import { describe, expect, it } from 'vitest'
import { parsePathPattern } from '../../../packages/policy-core/src/pattern/path-pattern.ts'
import { everyText } from '../every-text.ts'

/** What patterns are made of, what they must not have, and a letter of each further kind. */
const CHARACTERS = ['/', '.', '*', '~', 'a', '-', 'é', '\n']

describe('parsePathPattern', () => {
  it('takes what the grammar allows, of all texts up to six characters', () => {
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

  it('takes a name of any length', () => {
    expect(parsePathPattern(`/${'a'.repeat(20_000_000)}`).ok).toBe(true)
  })
})

/** Said anew: absolute or below `~`, no control character, and of each segment what it may be. */
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
