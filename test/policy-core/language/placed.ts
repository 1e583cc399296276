import type { Segments } from '../../../packages/policy-core/src/language/path-automaton.ts'
import {
  parsePathPattern,
  resolvePattern,
} from '../../../packages/policy-core/src/pattern/path-pattern.ts'

/** The segments of a pattern as a policy with home `/a` compiles them. */
export function placed(text: string, caseSensitive = true): Segments {
  const pattern = parsePathPattern(text)
  const segments = pattern.ok ? resolvePattern(pattern.value, { home: ['a'], caseSensitive }) : null
  if (segments === null) throw new Error(`no pattern: ${text}`)
  return segments
}
