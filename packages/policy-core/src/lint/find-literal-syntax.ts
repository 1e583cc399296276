import { quote } from '../quote.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type LintRule } from './lint-rule.ts'

/** A notation of shells and other matchers. Path patterns treat it as literal text. */
interface Notation {
  readonly found: RegExp
  readonly what: string
  readonly mend: string
}

/**
 * Notations that rarely occur in file names. `[id]`, `(group)` and `$cache` do occur and are not
 * reported. Nor are joiners, which Persian, Indic scripts and emoji need. Each expression runs in
 * time linear in the text.
 */
const NOTATIONS: readonly Notation[] = [
  {
    found: /\{[^{},/]*,[^{}/]*\}/,
    what: 'braces',
    mend: 'write one resource for each alternative',
  },
  {
    found: /\[[!^]?(?:[\w*]-\w)+\]|\[[!^][^[\]/]+\]/,
    what: 'a set of characters in brackets',
    mend: 'write `*` for the variable part, or one resource for each',
  },
  { found: /[?*+@!]\([^()|/]*\|[^()/]*\)/, what: 'an extended glob', mend: 'write `*` instead' },
  { found: /\?/, what: '`?`', mend: 'write `*` for the variable part' },
  {
    found: /(?:^|\/)(?:\$[A-Z_]{2,}|\$\{\w+\}|%[A-Z_]{2,}%)(?=\/|$)/,
    what: 'a variable',
    mend: 'write its value, or `~` for the home directory at the beginning',
  },
  {
    found: /.\/~(?=\/|$)|^\/~(?=\/|$)/u,
    what: '`~` that is not at the beginning',
    mend: 'write `~` at the beginning, where it is the home directory',
  },
  {
    found: /(?:^|\/)\p{White_Space}|\p{White_Space}(?=\/|$)/u,
    what: 'white space at an end of a name',
    mend: 'write the name without it',
  },
  {
    found: /(?![\u200c\u200d])\p{Cf}/u,
    what: 'an invisible character',
    mend: 'write the name without it',
  },
]

/** Finds paths with a notation that is literal text here, so that they match hardly any file. */
export function findLiteralSyntax(rule: LintRule): Finding[] {
  if (!rule.active) return []
  return rule.entries.flatMap((entry) => {
    if (entry.pattern.kind !== 'path') return []
    const notation = NOTATIONS.find(({ found }) => found.test(entry.text))
    if (notation === undefined) return []
    const message = `${quote(entry.text)} has ${notation.what}, which is literal in a path`
    return [createFinding('literal_syntax', [refer(entry)], message, notation.mend)]
  })
}
