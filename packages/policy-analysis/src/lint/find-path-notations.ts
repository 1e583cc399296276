import { parsePathPattern, quote } from '@palisade/policy-core/internal'
import { createFinding, type Finding } from './finding.ts'
import { refer, type LintRule } from './lint-rule.ts'

/** A notation of shells and other matchers. Path patterns treat it as literal text. */
interface Notation {
  readonly found: RegExp
  readonly what: string
  readonly mend: string
  /** The plain spelling of a whole pattern, where one exists. */
  readonly spell?: (text: string) => string
}

/**
 * Notations that rarely occur in file names. `[id]`, `(group)`, `$cache` and `\x2d` do occur and
 * are not reported. Nor are joiners, which Persian, Indic scripts and emoji need. Each expression
 * runs in time linear in the text, but for a bounded factor.
 */
const NOTATIONS: readonly Notation[] = [
  {
    found: /\\(?!x[0-9a-f]{2})/,
    what: 'a backslash, as an escape of a shell',
    mend: 'write the name without backslashes, and `/` between names',
    spell: (text) =>
      text.replace(/\\(?:0?40)/g, ' ').replace(/\\([^\w*\\])/g, (_, escaped: string) => escaped),
  },
  {
    found: /"|(?:^|\/)'[^/']*'(?=\/|$)|(?:^|\/)[“„‘‚«‹][^/]*[”“’‘»›](?=\/|$)/u,
    what: 'quotation marks',
    mend: 'write the name without them',
    spell: (text) => text.replace(/["'“”„‘’‚«»‹›]/gu, ''),
  },
  {
    found: /`|\$\(/,
    what: 'a command of a shell',
    mend: 'write its output',
  },
  {
    found: /%2[0f]|%[c-f][0-9a-f]%[89ab][0-9a-f]/i,
    what: 'percent-encoding, as in a URL',
    mend: 'write the characters themselves',
    spell: decodePercent,
  },
  {
    found: /\{\{|\$\{\{|<[\w -]{1,64}>/,
    what: 'a place-holder of a template',
    mend: 'write the value, or `*` for one name',
  },
  {
    found: /\{[^{},/]*,[^{}/]*\}|\{\w{1,16}\.\.\w{1,16}\}/,
    what: 'braces',
    mend: 'write one resource for each alternative',
  },
  {
    found: /\[[!^]?(?:[\w*]-\w)+\]|\[[!^][^[\]/]+\]|\[\d+\]|\[\[:\w+:\]\]/,
    what: 'a set of characters in brackets',
    mend: 'write `*` for the variable part, or one resource for each',
  },
  {
    found: /[?*+@!]\([^()|/]*\|[^()/]*\)|(?:^|\/)[?*+@!]\([^()/]+\)/,
    what: 'an extended glob',
    mend: 'write `*` instead',
  },
  {
    found: /[^/|]\|[^/|]/,
    what: '`|`',
    mend: 'write one resource for each alternative',
  },
  {
    found: /(?:^|\/)![^/]/,
    what: '`!` before a name',
    mend: 'write the name alone; a rule that excludes it is a deny',
  },
  {
    found: /^\/dev\/(?:tcp|udp)\//,
    what: 'a name that is a connection of a shell, and no file',
    mend: 'write a rule for `connect:tcp` or `connect:udp`',
  },
  {
    found: /[\u2217\u204e\u2731\ufe61\uff0a\u2044\u2215\uff0f]|(?:^|\/)\u2026(?=\/|$)/u,
    what: 'a sign that looks like `*`, `/` or `...`',
    mend: 'write `*` for one name, `**` for every level and `/` between names',
    spell: (text) =>
      text
        .replace(/[\u2217\u204e\u2731\ufe61\uff0a]/gu, '*')
        .replace(/[\u2044\u2215\uff0f]/gu, '/')
        .replace(/(?<=^|\/)\u2026(?=\/|$)/gu, '**'),
  },
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
    found: /[,;:]\s?[/~]/u,
    what: 'a list of paths',
    mend: 'write one resource for each path',
  },
  {
    found: /:(?:ro|rw)$/,
    what: 'a mount option',
    mend: 'write the path alone; `read` and `write` are actions of the rule',
  },
  {
    found: /(?:^|\/)\.\.\.(?=\/|$)/,
    what: '`...`',
    mend: 'write `**` for every level',
  },
  {
    found: /\s#/u,
    what: 'a comment',
    mend: 'write the path alone',
    spell: (text) => text.slice(0, text.search(/\s+#/u)),
  },
  {
    found: /(?:^|\/)\p{White_Space}|\p{White_Space}(?=\/|$)/u,
    what: 'white space at an end of a name',
    mend: 'write the name without it',
    spell: (text) => text.replace(/(?<=\/)\p{White_Space}+|\p{White_Space}+(?=\/|$)/gu, ''),
  },
  {
    found: /(?![\u200c\u200d])\p{Cf}/u,
    what: 'an invisible character',
    mend: 'write the name without it',
    spell: (text) => text.replace(/(?![\u200c\u200d])\p{Cf}/gu, ''),
  },
]

/** Finds notations in paths that are literal text here, so that they match hardly any path. */
export function findPathNotations({ active, entries }: LintRule): Finding[] {
  if (!active) return []
  return entries.flatMap((entry) => {
    const { text, pattern } = entry
    const found = pattern.kind === 'path' ? describePathNotation(text) : null
    if (found === null) return []
    const message = `${quote(text)} has ${found.what}, literal text in a path`
    return [createFinding('literal_syntax', [refer(entry)], message, found.mend)]
  })
}

/** Describes a notation in the path pattern that is literal text, with the correction; or null. */
function describePathNotation(text: string): { what: string; mend: string } | null {
  const found = NOTATIONS.find((notation) => notation.found.test(text))
  if (found !== undefined) {
    const plain = found.spell?.(text) ?? text
    const isPattern =
      plain !== text && parsePathPattern(plain).ok && describePathNotation(plain) === null
    return { what: found.what, mend: isPattern ? `write ${quote(plain)}` : found.mend }
  }
  return hasCharacterSet(text)
    ? {
        what: 'a set of characters in brackets',
        mend: 'write `*` for the variable part, or one resource for each',
      }
    : null
}

/**
 * Tells whether brackets of letters are a set. Names of web routes (`[id]`, `[slug].tsx`) stand
 * alone between `/`, `.` and `-`; a set follows or precedes other letters (`[Dd]ebug`), is a suffix
 * (`*.[ch]`) or lists neighbours of the alphabet (`[abc]`).
 */
function hasCharacterSet(text: string): boolean {
  for (const match of text.matchAll(/\[(\w{1,26})\]/g)) {
    const letters = match[1] ?? ''
    const before = text[match.index - 1] ?? ''
    const after = text[match.index + match[0].length] ?? ''
    const isSuffix = before === '.' && letters.length <= 3 && (after === '' || after === '/')
    if (/[\w*]/.test(before) || /[\w*]/.test(after) || isSuffix || isRun(letters)) return true
  }
  return false
}

function isRun(letters: string): boolean {
  const codes = [...letters].map((letter) => letter.codePointAt(0) ?? 0)
  return codes.every((code, index) => index === 0 || code === (codes[index - 1] ?? 0) + 1)
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
