import { freePort } from '@palisade/policy-core/internal'
import { createByPort } from '../../overlap/by-port.ts'
import { found, NONE, UNKNOWN, type SearchResult } from '../meter.ts'

interface HasPort {
  readonly port: number | null
}

/** Two questions that need an answer on the same port. */
export interface Halves<A, B> {
  /** The only port to search, or null for all. */
  readonly port: number | null
  /** Every port that a pattern mentions. */
  readonly mentioned: ReadonlySet<number>
  readonly own: (port: number) => SearchResult<A>
  readonly partner: Partner<B>
}

/** Finds the other half of a request: one that a policy allows on a port. */
export interface Partner<T> {
  readonly on: (port: number) => SearchResult<T>
  /** Ports that allows mention. All other ports are alike. */
  readonly ports: ReadonlySet<number>
}

export interface Pair<A, B> {
  readonly own: A
  readonly partner: B
  readonly port: number
}

/**
 * Finds two halves of a request on one port. An unmentioned port comes first: if `own` has no
 * answer there it has none at all, because patterns with a port only reduce its answers.
 */
export function findPair<A, B>({
  port,
  mentioned,
  own,
  partner,
}: Halves<A, B>): SearchResult<Pair<A, B>> {
  for (const here of portsToPair(port, mentioned, partner.ports)) {
    const first = own(here)
    if (first.kind === 'unknown') return UNKNOWN
    if (first.kind === 'none' && !mentioned.has(here)) return NONE
    if (first.kind === 'none') continue
    const second = partner.on(here)
    if (second.kind === 'found')
      return found({ own: first.value, partner: second.value, port: here })
    if (second.kind === 'unknown') return UNKNOWN
  }
  return NONE
}

function portsToPair(
  port: number | null,
  mentioned: ReadonlySet<number>,
  allowed: ReadonlySet<number>,
): readonly number[] {
  if (port !== null) return [port]
  const free = freePort(mentioned)
  return free === null ? [...mentioned] : [free, ...allowed]
}

export function portsIn(patterns: Iterable<HasPort>): Set<number> {
  const ports = new Set<number>()
  for (const { port } of patterns) if (port !== null) ports.add(port)
  return ports
}

/** Returns the result of `find` for the first allow with an answer. Each port is searched once. */
export function createPartner<P extends HasPort, T>(
  allows: readonly P[],
  mentioned: ReadonlySet<number>,
  find: (allow: P, port: number) => SearchResult<T>,
): Partner<T> {
  const known = new Map<number | null, SearchResult<T>>()
  const byPort = createByPort<P>()
  for (const pattern of allows) byPort.add(pattern, pattern.port)
  const look = (port: number): SearchResult<T> => {
    for (const pattern of byPort.on(port)) {
      const result = find(pattern, port)
      // `unknown` means that the budget is used up, so other allows cannot help.
      if (result.kind !== 'none') return result
    }
    return NONE
  }
  return {
    ports: portsIn(allows),
    on: (port) => {
      const key = mentioned.has(port) ? port : null
      const result = known.get(key) ?? look(port)
      known.set(key, result)
      return result
    },
  }
}
