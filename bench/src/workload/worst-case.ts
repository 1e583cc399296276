import type { Policy } from '@palisade/policy-core'
import type { WorstInput } from '../decide/case.ts'
import type { Resource } from './domain.ts'
import { policiesOf } from './scenario.ts'

/** Policies and the request that is slowest to decide. */
export interface WorstCase {
  readonly policies: readonly Policy[]
  readonly request: object
}

/**
 * Creates an input on which a matcher that backtracks, or tries every suffix separately, has no
 * bound.
 */
export function createWorstCase(input: WorstInput): WorstCase {
  switch (input) {
    case '24 ** against 400 segments': {
      const pattern = `${'/**/a'.repeat(24)}/**/z`
      const policies = policiesOf('read', [{ pattern, decision: 'allow' }])
      return { policies, request: { action: 'read', path: '/a'.repeat(400) } }
    }
    case '253 characters, 50,000 suffixes': {
      const labels = Array.from({ length: 127 }, (_, index) => LETTERS[index % 3] ?? 'a')
      const policies = policiesOf('connect:tcp', suffixesOf(labels, 50_000))
      return { policies, request: { action: 'connect:tcp', host: labels.join('.'), port: 443 } }
    }
    case 'path patterns near their limit': {
      const patterns = wordsOf(4, NESTED_LETTERS).map(
        (word) => `/**/${word.join('/**/')}/**/none/**`,
      )
      const resources = patterns.map((pattern): Resource => ({ pattern, decision: 'allow' }))
      const path = `/${NESTED_LETTERS.join('/')}`.repeat(200)
      return { policies: policiesOf('read', resources), request: { action: 'read', path } }
    }
  }
}

/** As many letters as `compilePolicy` accepts in such patterns. */
const NESTED_LETTERS = [...'abcdefghij']

function wordsOf(length: number, letters: readonly string[]): string[][] {
  if (length === 0) return [[]]
  return wordsOf(length - 1, letters).flatMap((word) => letters.map((letter) => [...word, letter]))
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

/** Every suffix of the name, then the same suffixes below a label that the name lacks. */
function suffixesOf(labels: readonly string[], count: number): Resource[] {
  const starts = labels.length - 3
  return Array.from({ length: count }, (_, index) => {
    const start = 1 + (index % starts)
    const other = Math.floor(index / starts)
    const suffix =
      other === 0 ? labels.slice(start) : [twoLetters(other), ...labels.slice(start + 2)]
    return { pattern: `**.${suffix.join('.')}`, decision: index % 5 === 0 ? 'deny' : 'allow' }
  })
}

function twoLetters(number: number): string {
  return `${LETTERS[Math.floor(number / 26) % 26] ?? ''}${LETTERS[number % 26] ?? ''}`
}
