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
type PatternSegment = 'any segments' | NamePattern

/** Case-insensitive matching uses Unicode's simple case folding. */
interface NamePattern {
  readonly sensitive: RegExp
  readonly insensitive: RegExp
}

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
  const start = pattern.atHome ? home : []
  if (start === null || !startsWith(path, start, caseSensitive)) return false

  // Walks the pattern and tracks how many segments of the path each part may have consumed.
  let used = [start.length]
  for (const part of pattern.segments) {
    if (part === 'any segments') {
      const least = Math.min(...used)
      used = [...path.keys(), path.length].filter((count) => count >= least)
    } else {
      const segment = caseSensitive ? part.sensitive : part.insensitive
      used = used
        .filter((count) => count < path.length && segment.test(path[count] ?? ''))
        .map((count) => count + 1)
    }
  }
  return used.includes(path.length)
}

function startsWith(
  path: readonly string[],
  start: readonly string[],
  caseSensitive: boolean,
): boolean {
  return start.every((name, index) => {
    const segment = path[index]
    if (segment === undefined || caseSensitive) return segment === name
    return toNamePattern([name]).insensitive.test(segment)
  })
}

function readSegment(text: string): PatternSegment {
  return text === '**' ? 'any segments' : toNamePattern(text.split('*'))
}

function toNamePattern(literals: readonly string[]): NamePattern {
  const escaped = literals.map((literal) => literal.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  const text = `^${escaped.join('.*')}$`
  return { sensitive: new RegExp(text, 'su'), insensitive: new RegExp(text, 'siu') }
}

function isNoName(segment: string): boolean {
  return segment === '' || segment === '.' || segment === '..'
}

function isMisplacedDoubleStar(segment: string): boolean {
  return segment.includes('**') && segment !== '**'
}
