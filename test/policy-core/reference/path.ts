const MAX_PATH_BYTES = 4096

/** The segments of a canonical absolute path (none for `/`); null when there is no such path. */
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

/** `**`, or one segment in which `*` is any run of characters. */
type PatternSegment = 'any segments' | { readonly literals: readonly string[] }

export interface PathPattern {
  /** Whether the segments continue the home directory instead of the root. */
  readonly atHome: boolean
  readonly segments: readonly PatternSegment[]
}

/** A resource of a filesystem rule; null when it is to be rejected. */
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

/** What a path pattern means on one machine. */
export interface PathMeaning {
  /** Null when nobody has said where the home directory is. */
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

  // Walks the pattern, keeping how many segments of the path may have been used up so far.
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

/** Letters that Unicode's simple case folding makes equal are equal when case does not count. */
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
