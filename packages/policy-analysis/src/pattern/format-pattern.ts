import {
  FAMILY_BITS,
  formatAddress,
  formatHostPort,
  type GlobSegment,
  type NetworkPattern,
} from '@palisade/policy-core/internal'

const STARS = { exact: '', one: '*.', any: '**.' } as const

/** The pattern in the notation of rules; equal for equivalent patterns. */
export function formatNetworkPattern(pattern: NetworkPattern): string {
  const { port } = pattern
  if (pattern.kind === 'name')
    return formatHostPort(`${STARS[pattern.depth]}${pattern.domain}`, port)
  const { family, base, prefix } = pattern.range
  const address = formatAddress({ family, value: base })
  if (prefix < FAMILY_BITS[family]) return `${address}/${prefix}`
  return formatHostPort(address, port)
}

/** A key that is equal for path patterns with equal text after insertion of the home directory. */
export function keyOfSegments(segments: readonly GlobSegment[]): string {
  // NUL occurs in no pattern and no home. A home may contain a literal `*`.
  return segments
    .map((segment) => ('recursive' in segment ? '\0\0' : segment.pieces.join('\0')))
    .join('/')
}

/**
 * The path pattern in the notation of rules. Null when rules cannot express it: the name of a home
 * directory may contain a literal `*`.
 */
export function formatSegments(segments: readonly GlobSegment[]): string | null {
  const texts = segments.map((segment) => {
    if ('recursive' in segment) return '**'
    return segment.pieces.some((piece) => piece.includes('*')) ? null : segment.pieces.join('*')
  })
  return texts.includes(null) ? null : `/${texts.join('/')}`
}
