import type { NetworkPattern } from '@palisade/policy-core/internal'
import { isOnPort, portsToTry } from '../../pattern/ports.ts'
import { coversNetwork } from '../../pattern/network-language.ts'
import { firstFound, found, NONE, UNKNOWN, type Meter, type SearchResult } from '../meter.ts'
import { freshLabel } from './fresh-label.ts'

export type NamePattern = NetworkPattern & { readonly kind: 'name' }

export interface NameAndPort {
  readonly name: string
  readonly port: number
}

/** Code units of a domain that cost one step. */
const UNITS_OF_STEP = 32

/**
 * Finds a name and port that `inside` matches and no pattern of `outside` matches. Exact: all
 * unmentioned names below a domain are decided alike, so one fresh label stands for them.
 * O(outside).
 */
export function findName(
  inside: NamePattern,
  outside: readonly NamePattern[],
  meter: Meter,
): SearchResult<NameAndPort> {
  return firstFound(portsToTry(inside.port, outside), (port) => {
    if (!meter.spend(1 + outside.length)) return UNKNOWN
    const here = outside
      .filter((pattern) => isOnPort(pattern, port))
      .map((pattern) => ({ ...pattern, port: null }))
    const result = freeName({ ...inside, port: null }, here, meter)
    return result.kind === 'found' ? found({ name: result.value, port }) : result
  })
}

function freeName(
  inside: NamePattern,
  outside: readonly NamePattern[],
  meter: Meter,
): SearchResult<string> {
  const { domain, depth } = inside
  if (!meter.spend(outside.length * (1 + Math.floor(domain.length / UNITS_OF_STEP)))) return UNKNOWN
  if (outside.some((pattern) => coversNetwork(pattern, inside))) return NONE
  if (depth === 'exact') return found(domain)
  // Patterns nest or are disjoint. Those inside are distinguished by the labels that they add.
  const below = outside.filter((pattern) => coversNetwork(inside, pattern))
  const heads = groupByHead(below, domain)
  if (!below.some((pattern) => pattern.domain === domain)) {
    const taken = new Set(
      below.filter(({ depth: how }) => how === 'exact').map((pattern) => pattern.domain),
    )
    const label = freshLabel(domain, labelsTaken(taken, domain))
    if (label !== null) return found(`${label}.${domain}`)
  }
  return depth === 'any' ? freeNameDeeper(domain, heads, meter) : NONE
}

/** A name with two or more labels before the domain. */
function freeNameDeeper(
  domain: string,
  heads: ReadonlyMap<string, readonly NamePattern[]>,
  meter: Meter,
): SearchResult<string> {
  const label = freshLabel(domain, new Set(heads.keys()), 2)
  if (label !== null) {
    const parent = `${label}.${domain}`
    const first = freshLabel(parent, new Set())
    if (first !== null) return found(`${first}.${parent}`)
  }
  return firstFound(heads, ([head, patterns]) => {
    const inside = { kind: 'name', domain: `${head}.${domain}`, depth: 'any', port: null } as const
    return freeName(inside, patterns, meter)
  })
}

function labelsTaken(names: ReadonlySet<string>, domain: string): ReadonlySet<string> {
  return new Set([...names].map((name) => name.slice(0, -domain.length - 1)))
}

/** Groups the patterns below `domain` by the label directly before it. */
function groupByHead(
  patterns: readonly NamePattern[],
  domain: string,
): ReadonlyMap<string, NamePattern[]> {
  const groups = new Map<string, NamePattern[]>()
  for (const pattern of patterns) {
    if (pattern.domain.length <= domain.length) continue
    const more = pattern.domain.slice(0, -domain.length - 1)
    const head = more.slice(more.lastIndexOf('.') + 1)
    const group = groups.get(head)
    if (group === undefined) groups.set(head, [pattern])
    else group.push(pattern)
  }
  return groups
}
