import { embeddedIpv4 } from '../address/embedded-ipv4.ts'
import { rangeCovers, type IpRange } from '../address/ip-range.ts'
import type { IpAddress } from '../address/ip-address.ts'
import { protectedClasses, protectionsOf } from '../address/protected-address.ts'
import type { GlobSegment } from '../path/glob.ts'
import type { NetworkPattern } from '../pattern/network-pattern.ts'
import { quote } from '../quote.ts'
import { describeBroadDepths, describeBroadDomain } from './broad-domain.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type LintPattern, type LintRule } from './lint-rule.ts'

/** Shortest prefix that is plausible for one organization. */
const LEAST_PREFIX = { 4: 8, 6: 16 }

/** Unique local addresses (RFC 4193). They are private, so the size of a range is harmless. */
const UNIQUE_LOCAL: IpRange = { family: 6, base: 0xfcn << 120n, prefix: 7 }

/** Finds allows that are too broad to be intended. */
export function findBroad(rule: LintRule): Finding[] {
  if (!rule.active || rule.decision === 'deny') return []
  return rule.entries.flatMap((entry) => {
    const broad = describeBroad(entry.pattern)
    if (broad === null) return []
    const message = `${quote(entry.text)} allows ${broad.what}`
    return [createFinding('too_broad', [refer(entry)], message, broad.mend)]
  })
}

interface Broad {
  readonly what: string
  readonly mend: string
}

/** Describes a pattern that is too broad, with the correction; null for other patterns. */
export function describeBroad(pattern: LintPattern): Broad | null {
  if (pattern.kind === 'path')
    return !pattern.fromHome && pattern.segments.length > 0 && pattern.segments.every(isAny)
      ? { what: 'everything on the machine', mend: 'name directories, such as `/data/project/**`' }
      : null
  if (pattern.kind === 'range') return describeBroadRange(pattern.range)
  const what = describeBroadName(pattern)
  return what === null ? null : { what, mend: 'name the domains that are needed' }
}

function describeBroadName({
  depth,
  domain,
}: NetworkPattern & { readonly kind: 'name' }): string | null {
  if (depth === 'exact') return null
  return depth === 'one' ? describeBroadDomain(domain) : describeBroadDepths(domain)
}

function isAny(segment: GlobSegment): boolean {
  return 'recursive' in segment || segment.pieces.join('*') === '*'
}

function describeBroadRange(range: IpRange): Broad | null {
  const mend = 'name the networks that are needed, or allow names instead'
  if (range.prefix === 0) return { what: `every IPv${range.family} address`, mend }
  const first: IpAddress = { family: range.family, value: range.base }
  // An IPv6 gateway in such a range forwards to all of IPv4, or to a great part.
  for (const { outerBits } of embeddedIpv4(first)) {
    if (range.prefix <= outerBits(0))
      return { what: 'every IPv4 address through an IPv6 gateway', mend }
    if (range.prefix < outerBits(LEAST_PREFIX[4]) && !isProtected(range, first))
      return { what: 'a great part of IPv4 through an IPv6 gateway', mend }
  }
  if (range.prefix >= LEAST_PREFIX[range.family] || isOfOneKind(range)) return null
  return { what: 'a great part of the internet', mend }
}

/** Tells whether the whole range is private or protected, so that its size is irrelevant. */
function isOfOneKind(range: IpRange): boolean {
  const kinds = [UNIQUE_LOCAL, ...protectedClasses([]).map((each) => each.range)]
  return kinds.some((kind) => rangeCovers(kind, range))
}

/** Tells whether the whole range carries IPv4 addresses of one protected class. */
function isProtected(range: IpRange, first: IpAddress): boolean {
  return protectionsOf(first, []).some(({ isOpenedBy }) => isOpenedBy(range))
}
