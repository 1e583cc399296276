import { quote } from '../quote.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type LintRule } from './lint-rule.ts'

/** A notation of shells and other matchers, which stands for itself here. */
interface Notation {
  readonly found: RegExp
  readonly what: string
  readonly mend: string
}

/**
 * Only what hardly is in the name of a file: `[id]`, `(group)` and `$cache` are. Without joiners,
 * which Persian, Indic scripts and emoji need. Each is found in time linear in the text.
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
    mend: 'write `*` for what may vary, or one resource for each',
  },
  { found: /[?*+@!]\([^()|/]*\|[^()/]*\)/, what: 'an extended glob', mend: 'write `*` instead' },
  { found: /\?/, what: '`?`', mend: 'write `*` for what may vary' },
  {
    found: /(?:^|\/)(?:\$[A-Z_]{2,}|\$\{\w+\}|%[A-Z_]{2,}%)(?=\/|$)/,
    what: 'a variable',
    mend: 'write what it stands for, or `~` for the home directory at the beginning',
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
    what: 'a character that nobody can see',
    mend: 'write the name without it',
  },
]

/** Paths that hold a notation which means nothing here, so that they hardly match anything. */
export function findLiteralSyntax(rule: LintRule): Finding[] {
  if (!rule.active) return []
  return rule.entries.flatMap((entry) => {
    if (entry.pattern.kind !== 'path') return []
    const notation = NOTATIONS.find(({ found }) => found.test(entry.text))
    if (notation === undefined) return []
    const message = `${quote(entry.text)} has ${notation.what}, which a path must have as well`
    return [createFinding('literal_syntax', [refer(entry)], message, notation.mend)]
  })
}
