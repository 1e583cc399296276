import { quote } from '../quote.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type LintRule } from './lint-rule.ts'
import { describeNameNotation } from './name-notations.ts'
import { describePathNotation } from './path-notations.ts'

/** Finds notations that are literal text here, so that they match hardly any path or host. */
export function findLiteralSyntax(rule: LintRule): Finding[] {
  if (!rule.active) return []
  return rule.entries.flatMap((entry) => {
    const { text, pattern } = entry
    if (pattern.kind === 'range') return []
    const found =
      pattern.kind === 'path' ? describePathNotation(text) : describeNameNotation(text, pattern)
    if (found === null) return []
    const message =
      pattern.kind === 'path'
        ? `${quote(text)} has ${found.what}, literal text in a path`
        : `${quote(text)} ${found.what}`
    return [createFinding('literal_syntax', [refer(entry)], message, found.mend)]
  })
}
