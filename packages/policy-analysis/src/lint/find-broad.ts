import {
  embeddedIpv4,
  protectedClasses,
  protectionsOf,
  quote,
  rangeCovers,
  type GlobSegment,
  type IpAddress,
  type IpRange,
  type NetworkPattern,
} from '@palisade/policy-core/internal'
import { createFinding, type Finding } from './finding.ts'
import type { LintPattern } from './lint-pattern.ts'
import { refer, type LintRule } from './lint-rule.ts'

/**
 * Domains below which strangers can register names: the most common registries and hosting
 * providers of the Public Suffix List (publicsuffix.org). The list is short on purpose: every entry
 * is certain, and the full list is larger than the evaluator.
 */
const OPEN_TO_ALL: ReadonlySet<string> = new Set(
  `ac.jp ac.uk co.at co.id co.il co.in co.jp co.ke co.kr co.nz co.th co.uk co.za com.ar com.au
  com.br com.cn com.co com.es com.hk com.mx com.my com.ph com.pl com.sg com.tr com.tw com.ua com.vn
  gov.uk me.uk ne.jp net.au net.br net.cn net.uk or.jp org.au org.br org.cn org.uk
  amazonaws.com appspot.com azureedge.net azurewebsites.net blob.core.windows.net blogspot.com
  cloudapp.azure.com cloudapp.net cloudfront.net cloudfunctions.net elasticbeanstalk.com
  firebaseapp.com fly.dev github.io gitlab.io herokuapp.com lambda-url.us-east-1.on.aws
  myshopify.com netlify.app ngrok-free.app ngrok.app ngrok.io onrender.com pages.dev r2.dev repl.co
  run.app s3.amazonaws.com surge.sh trycloudflare.com vercel.app web.app workers.dev`.split(/\s+/),
)

/** Special-use and customary private names of one label. Strangers cannot register below them. */
const PRIVATE: ReadonlySet<string> = new Set(
  `cluster consul corp example home internal intranet invalid lan local localhost private svc
  test`.split(/\s+/),
)

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

/** Says why a wildcard below the domain reaches strangers, or returns null. */
export function describeBroadDomain(domain: string): string | null {
  if (!domain.includes('.'))
    return PRIVATE.has(domain) ? null : 'every name in a top-level domain, regardless of its owner'
  return OPEN_TO_ALL.has(domain) ? 'names that anybody can get' : null
}

/** Says why `**` below the domain reaches strangers on any level, or returns null. */
export function describeBroadDepths(domain: string): string | null {
  const open = [...OPEN_TO_ALL].find((each) => each.endsWith(`.${domain}`))
  return (
    describeBroadDomain(domain) ??
    (open === undefined ? null : `names that anybody can get, below ${quote(open)}`)
  )
}
