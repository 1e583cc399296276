import {
  foldSegment,
  globMatches,
  literalSegment,
  parseGlobSegment,
  type GlobPath,
  type GlobSegment,
} from '../path/glob.ts'
import { MAX_PATH_BYTES, segmentsOf } from '../path/path.ts'
import { quote } from '../quote.ts'
import { parsed, refused, type Parsed } from '../result.ts'

/** A filesystem resource: whether it starts at the home directory, and its segments. */
export interface PathPattern {
  readonly fromHome: boolean
  readonly segments: readonly GlobSegment[]
}

/** How paths are compared on the machine that a policy is compiled for. */
export interface PathMeaning {
  /** Segments of the home directory, or null without one. */
  readonly home: readonly string[] | null
  readonly caseSensitive: boolean
}

/**
 * Matches nearly every pattern: names of common characters, each `*` alone, `**` as a whole
 * segment. Not for texts of millions of characters, which overflow the stack of the engine.
 */
const NOTHING_WRONG = /^~?(?:\/(?:\*\*|\.?(?:[\w-]|\*(?!\*))(?:[\w.-]|\*(?!\*))*))+$/

/** Reads a filesystem resource of a rule. The message of a refusal names the correction. */
export function parsePathPattern(text: string): Parsed<PathPattern> {
  const problem = findPathProblem(text)
  if (problem !== null) return refused(`${text === '' ? 'the resource' : quote(text)} ${problem}`)
  const fromHome = text.startsWith('~')
  const path = fromHome ? text.slice(1) : text
  const segments = path === '' || path === '/' ? [] : segmentsOf(path)
  return parsed({ fromHome, segments: segments.map(parseGlobSegment) })
}

/** The segments to match, or null when the pattern starts at the home and there is none. */
export function resolvePattern(
  pattern: PathPattern,
  meaning: PathMeaning,
): readonly GlobSegment[] | null {
  if (pattern.fromHome && meaning.home === null) return null
  const segments =
    pattern.fromHome && meaning.home !== null
      ? [...meaning.home.map(literalSegment), ...pattern.segments]
      : pattern.segments
  return meaning.caseSensitive ? segments : segments.map(foldSegment)
}

/** Tells whether resolved segments match a canonical path. */
export function resolvedPatternMatches(
  pattern: readonly GlobSegment[] | null,
  path: GlobPath,
): boolean {
  return pattern !== null && globMatches(pattern, path)
}

function findPathProblem(text: string): string | null {
  if (text.length <= MAX_PATH_BYTES && NOTHING_WRONG.test(text)) return null
  if (text === '') return 'is empty; write an absolute path such as `/data/**`'
  if (!text.isWellFormed()) return 'contains an unpaired surrogate'
  if (/\p{Cc}/u.test(text)) return 'contains a control character, which a rule cannot name'
  if (!/^(?:\/|~(?:\/|$))/.test(text)) return describeRelative(text)
  if (text === '/') return null
  if (text.endsWith('/')) return describeTrailingSlash(withoutSlashes(text))
  for (const segment of text
    .slice(1)
    .split('/')
    .slice(text.startsWith('~') ? 1 : 0)) {
    const problem = findSegmentProblem(segment)
    if (problem !== null) return problem
  }
  return null
}

function describeRelative(text: string): string {
  if (/^(?:[A-Za-z*]:[\\/]|\\\\)/.test(text)) return 'is a Windows path; paths are separated by `/`'
  if (text.startsWith('file://')) return 'is a URL; write the path alone, from its `/`'
  if (text.startsWith('~'))
    return (
      'names the home directory of another user; ' +
      "write `~/` for the user's own, or the full path"
    )
  if (/^[$%]/.test(text))
    return (
      'names a variable, which rules do not expand; ' +
      'write `~/` for the home directory, or the full path'
    )
  if (text.startsWith('**/')) return `is not absolute; write ${quote(`/${text}`)}`
  return 'is not absolute; write a path that starts with `/`, or with `~/` for the home directory'
}

function describeTrailingSlash(bare: string): string {
  if (bare === '') return 'ends in `/`; write `/`'
  const meant = bare.endsWith('/**') ? quote(bare) : `${quote(bare)} or ${quote(`${bare}/**`)}`
  return `ends in \`/\`; write ${meant}`
}

/** A loop, because `/\/+$/` takes quadratic time for slashes inside the text. */
function withoutSlashes(text: string): string {
  let end = text.length
  while (text[end - 1] === '/') end -= 1
  return text.slice(0, end)
}

function findSegmentProblem(segment: string): string | null {
  if (segment === '') return 'has an empty segment; write one `/` between names'
  if (segment === '.' || segment === '..')
    return `has a \`${segment}\` segment; write the path without it`
  const tail = /^\*\*([^*]+)$/.exec(segment)?.[1]
  if (tail !== undefined)
    return (
      `has \`**\` inside the segment ${quote(segment)}; ` +
      `write ${quote(`**/*${tail}`)} for any depth, ${quote(`*${tail}`)} for one name`
    )
  if (segment !== '**' && segment.includes('**'))
    return (
      `has \`**\` inside the segment ${quote(segment)}; ` +
      `\`**\` must be a whole segment, write \`*\` inside a name`
    )
  return null
}
