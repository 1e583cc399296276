import type { PortGroups } from '../../../../packages/policy-core/src/lookup/chain-sets.ts'
import type { DomainPatterns } from '../../../../packages/policy-core/src/lookup/name/name-index.ts'
import { patternCoversName } from '../../../../packages/policy-core/src/pattern/network-pattern.ts'

/** A pattern in a list, which an index must find. */
export interface NamePattern {
  readonly domain: string
  readonly depth: 'exact' | 'one' | 'any'
  readonly port: number | null
}

/** Groups the patterns by domain. The group number of a pattern is its position in the list. */
export function byDomain(patterns: readonly NamePattern[]): DomainPatterns[] {
  const domains = [...new Set(patterns.map(({ domain }) => domain))]
  const groupsOf = (domain: string, depth: string): PortGroups | null => {
    const own = [...patterns.entries()].filter(
      ([, pattern]) => pattern.domain === domain && pattern.depth === depth,
    )
    if (own.length === 0) return null
    const [everyPort = null] = own.filter(([, { port }]) => port === null).map(([group]) => group)
    const byPort = new Map(
      own.flatMap(([group, { port }]) => (port === null ? [] : [[port, group]])),
    )
    return { everyPort, byPort: byPort.size === 0 ? null : byPort }
  }
  return domains.map((domain) => ({
    domain,
    exact: groupsOf(domain, 'exact'),
    one: groupsOf(domain, 'one'),
    any: groupsOf(domain, 'any'),
  }))
}

/** Scans for the positions of all patterns that cover the name on the port. */
export function covering(patterns: readonly NamePattern[], name: string, port: number): number[] {
  return [...patterns.entries()]
    .filter(([, pattern]) => pattern.port === null || pattern.port === port)
    .filter(([, pattern]) => patternCoversName({ kind: 'name', ...pattern }, name))
    .map(([group]) => group)
}

/** Returns domains with equal hashes: characters 32 positions apart can be exchanged. */
export function sameHash(bits: number): string[] {
  return Array.from({ length: 2 ** bits }, (_, index) => {
    const chars: string[] = Array.from({ length: 56 }, (__, at) => (at % 32 < bits ? 'x' : 'a'))
    for (let bit = 0; bit < bits; bit += 1) {
      const isSwapped = ((index >> bit) & 1) === 1
      chars[bit] = isSwapped ? 'y' : 'x'
      chars[bit + 32] = isSwapped ? 'x' : 'y'
    }
    return `${chars.join('')}.example`
  })
}
