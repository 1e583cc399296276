import type { GlobSegment } from '../../path/glob.ts'
import { ITEMS_A_STEP, type Steps } from '../../steps.ts'

/** A distinct pattern, and the number of its group. */
export interface PathGroup {
  /** Placed, and folded where letter case does not count. */
  readonly segments: readonly GlobSegment[]
  readonly group: number
}

/** One token of a pattern: any name, any number of names, or a label. */
export type Token = 'any one' | 'any number' | number

/** A name with `*` inside, and its label. */
export interface LabelledGlob {
  readonly label: number
  readonly pieces: readonly string[]
}

/** The distinct names and globs of all patterns, each with a number: its label. */
export interface PatternLabels {
  readonly count: number
  readonly literals: ReadonlyMap<string, number>
  readonly globs: readonly LabelledGlob[]
}

/** Patterns as lists of tokens, all with the same labels. */
export interface LabelledPatterns {
  readonly labels: PatternLabels
  /** The tokens of each pattern. */
  readonly tokens: readonly (readonly Token[])[]
  readonly groups: Int32Array
}

export function* labelPatterns(patterns: readonly PathGroup[]): Steps<LabelledPatterns> {
  const collector = collectLabels()
  const tokens: Token[][] = []
  for (let index = 0; index < patterns.length; index += 1) {
    if (index % ITEMS_A_STEP === 0) yield
    tokens.push(collector.tokensOf(patterns[index]!.segments))
  }
  const groups = Int32Array.from(patterns, ({ group }) => group)
  return { labels: collector.finish(), tokens, groups }
}

interface LabelCollector {
  /** The tokens of a pattern, its runs of `*` and `**` in their one spelling. */
  tokensOf(segments: readonly GlobSegment[]): Token[]
  finish(): PatternLabels
}

/** Numbers names and globs as they come. A name may hold a `*`: as part of a home directory. */
function collectLabels(): LabelCollector {
  const literals = new Map<string, number>()
  const globs = new Map<string, LabelledGlob>()

  const labelOf = (pieces: readonly string[]): number => {
    const next = literals.size + globs.size
    if (pieces.length === 1) {
      const name = pieces[0]!
      const known = literals.get(name)
      if (known === undefined) literals.set(name, next)
      return known ?? next
    }
    const text = pieces.join('*')
    const known = globs.get(text)
    if (known === undefined) globs.set(text, { label: next, pieces })
    return known?.label ?? next
  }

  return {
    tokensOf(segments) {
      const tokens: Token[] = []
      let loops = false
      for (let index = 0; index < segments.length; index += 1) {
        const segment = segments[index]!
        if ('recursive' in segment) {
          loops = true
        } else if (isAnyOne(segment.pieces)) {
          tokens.push('any one')
        } else {
          if (loops) tokens.push('any number')
          loops = false
          tokens.push(labelOf(segment.pieces))
        }
      }
      // `**/*` equals `*/**`. With `*` first, a loop never has a child for any name.
      if (loops) tokens.push('any number')
      return tokens
    },
    finish: () => ({
      count: literals.size + globs.size,
      literals,
      globs: [...globs.values()],
    }),
  }
}

function isAnyOne(pieces: readonly string[]): boolean {
  return pieces.length > 1 && pieces.every((piece) => piece === '')
}
