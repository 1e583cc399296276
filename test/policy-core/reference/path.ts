const MAX_PATH_BYTES = 4096

/**
 * Returns the segments of an absolute path in canonical form, none for `/`. Returns null for an
 * invalid path.
 */
export function readPath(text: unknown): string[] | null {
  if (typeof text !== 'string' || !text.isWellFormed() || text.includes('\0')) return null
  if (Buffer.byteLength(text) > MAX_PATH_BYTES || !text.startsWith('/')) return null
  const segments = text.slice(1).split('/')
  if (segments.at(-1) === '') segments.pop()
  return segments.some(isNoName) ? null : segments
}

export function formatPath(segments: readonly string[]): string {
  return `/${segments.join('/')}`
}

/** `**`, or one segment whose `*` matches any characters. */
type PatternSegment = 'any segments' | { readonly literals: readonly string[] }

export interface PathPattern {
  /** Whether the segments are relative to the home directory instead of the root. */
  readonly atHome: boolean
  readonly segments: readonly PatternSegment[]
}

/** Reads a resource of a filesystem rule. Returns null for an invalid one. */
export function readPathPattern(text: string): PathPattern | null {
  if (!text.isWellFormed() || /\p{Cc}/u.test(text)) return null
  if (text === '/') return { atHome: false, segments: [] }
  const [first, ...segments] = text.split('/')
  if (first !== '' && first !== '~') return null
  if (first === '' && segments.length === 0) return null
  if (segments.some((segment) => isNoName(segment) || isMisplacedDoubleStar(segment))) return null
  if (segments.filter((segment) => segment === '**').length > 32) return null
  if (text.replaceAll('**', '').split('*').length - 1 > 64) return null
  return { atHome: first === '~', segments: segments.map(readSegment) }
}

/** The settings of a machine that determine the meaning of path patterns. */
export interface PathMeaning {
  /** Null for an unknown home directory. */
  readonly home: readonly string[] | null
  readonly caseSensitive: boolean
}

export function matchesPath(
  pattern: PathPattern,
  path: readonly string[],
  { home, caseSensitive }: PathMeaning,
): boolean {
  if (pattern.atHome && home === null) return false
  const start = pattern.atHome ? (home ?? []).map((name) => ({ literals: [name] })) : []

  // Walks the pattern and tracks how many segments of the path each part may have consumed.
  let used = [0]
  for (const part of [...start, ...pattern.segments]) {
    used =
      part === 'any segments'
        ? [...path.keys(), path.length].filter((count) => used.some((least) => least <= count))
        : used
            .filter((count) => matchesSegment(part.literals, path[count], caseSensitive))
            .map((count) => count + 1)
  }
  return used.includes(path.length)
}

/** Case-insensitive matching uses Unicode's simple case folding. */
function matchesSegment(
  literals: readonly string[],
  segment: string | undefined,
  caseSensitive: boolean,
): boolean {
  if (segment === undefined) return false
  const escaped = literals.map((literal) => literal.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${escaped.join('.*')}$`, caseSensitive ? 'su' : 'siu').test(segment)
}

function readSegment(text: string): PatternSegment {
  return text === '**' ? 'any segments' : { literals: text.split('*') }
}

function isNoName(segment: string): boolean {
  return segment === '' || segment === '.' || segment === '..'
}

function isMisplacedDoubleStar(segment: string): boolean {
  return segment.includes('**') && segment !== '**'
}
