import { FAMILY_BITS, formatAddress } from '../address/ip-address.ts'
import { formatHostPort } from '../host/host.ts'
import type { GlobSegment } from '../path/glob.ts'
import type { NetworkPattern } from './network-pattern.ts'

const STARS = { exact: '', one: '*.', any: '**.' } as const

/** The pattern as a rule writes it; equal for patterns that mean the same. */
export function formatNetworkPattern(pattern: NetworkPattern): string {
  const { port } = pattern
  if (pattern.kind === 'name')
    return formatHostPort(`${STARS[pattern.depth]}${pattern.domain}`, port)
  const { family, base, prefix } = pattern.range
  const address = formatAddress({ family, value: base })
  if (prefix < FAMILY_BITS[family]) return `${address}/${prefix}`
  return formatHostPort(address, port)
}

/** Equal for path patterns that are written alike once the home directory is put in. */
export function keyOfSegments(segments: readonly GlobSegment[]): string {
  // NUL is in no pattern and no home, where a literal `*` can be.
  return segments
    .map((segment) => ('recursive' in segment ? '\0\0' : segment.pieces.join('\0')))
    .join('/')
}

/**
 * The path pattern as a rule writes it; null when no rule can: a home directory may have a `*` in
 * its name, which means itself there.
 */
export function formatSegments(segments: readonly GlobSegment[]): string | null {
  const texts = segments.map((segment) => {
    if ('recursive' in segment) return '**'
    return segment.pieces.some((piece) => piece.includes('*')) ? null : segment.pieces.join('*')
  })
  return texts.includes(null) ? null : `/${texts.join('/')}`
}
