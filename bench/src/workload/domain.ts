import type { Action, RuleDecision } from '@palisade/policy-core'
import type { Random } from './random.ts'

export const DOMAIN_NAMES = ['hosts', 'addresses', 'paths'] as const
export type DomainName = (typeof DOMAIN_NAMES)[number]

/**
 * `mixed` is 50 % allow, 10 % deny and 40 % miss. `allow`, `deny` and `miss` are its parts.
 * `hostile` is malformed, unusual or expensive input.
 */
export type Mix = 'mixed' | 'allow' | 'deny' | 'miss' | 'hostile'

export interface Resource {
  readonly pattern: string
  readonly decision: RuleDecision
}

/**
 * Resources that cannot match a request of another zone. The expected answer to a request therefore
 * depends on few resources, whatever the size of the scenario.
 */
export interface Zone {
  /** The common part of the zone's names: a domain, an address block, a folder. */
  readonly root: string
  readonly resources: readonly Resource[]
}

/**
 * One kind of malformed, unusual or expensive input, derived from a request that a resource of
 * `root` matches.
 */
export interface HostileKind {
  readonly name: string
  /** Occurrences per cycle of the hostile mix; 0 for a kind that is only measured alone. */
  readonly weight: number
  readonly make: (inside: string, root: string) => string
}

/** The number of requests after which the hostile mix repeats its kinds. */
export const HOSTILE_CYCLE = 15

/** Draws scenarios of one domain. All randomness comes from the given source. */
export interface Domain {
  readonly name: DomainName
  readonly action: Action
  readonly drawZone: (random: Random, index: number) => Zone
  /** A canonical request that a resource of the zone matches or narrowly misses. */
  readonly drawRequest: (random: Random, zone: Zone) => string
  /** A canonical request outside every zone. */
  readonly drawOutside: (random: Random) => string
  /** A canonical request that a resource of the zone matches. */
  readonly drawInside: (random: Random, zone: Zone) => string
  /** Kinds of hostile input. Their weights add up to `HOSTILE_CYCLE`. */
  readonly hostile: readonly HostileKind[]
  /** The request object for `decide`. */
  readonly requestFor: (text: string) => object
}

/** Draws a hostile request derived from the zone. The kinds take turns. */
export function drawHostile(domain: Domain, random: Random, zone: Zone, turn: number): string {
  const kinds = domain.hostile.map((kind) => [kind.weight, kind] as const)
  return takeTurn(kinds, turn).make(domain.drawInside(random, zone), zone.root)
}

/** Draws distinct patterns of a zone. One in five denies. */
export function drawResources(
  random: Random,
  count: number,
  drawPattern: () => string,
): readonly Resource[] {
  const patterns = new Set(Array.from({ length: count }, drawPattern))
  return [...patterns].map((pattern) => ({
    pattern,
    decision: random.next() < 0.2 ? 'deny' : 'allow',
  }))
}

/** Picks one of the values in turn, as often per cycle as its weight. */
export function takeTurn<T>(
  choices: readonly (readonly [weight: number, value: T])[],
  turn: number,
): T {
  const cycle = choices.flatMap(([weight, value]) => Array.from({ length: weight }, () => value))
  const value = cycle[turn % cycle.length]
  if (value === undefined) throw new RangeError('there is no value to choose; give at least one')
  return value
}
