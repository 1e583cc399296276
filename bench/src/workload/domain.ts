import type { Action, RuleDecision } from '@palisade/policy-core'
import type { DomainName } from '../case.ts'
import type { Random } from './random.ts'

export interface Resource {
  readonly pattern: string
  readonly decision: RuleDecision
}

/**
 * Resources that can match no request of another zone. So a request's expected answer follows
 * from a handful of resources, however many the whole scenario has.
 */
export interface Zone {
  /** What makes the zone's names its own: a domain, an address block, a folder. */
  readonly root: string
  readonly resources: readonly Resource[]
}

/** One kind of bad, odd or expensive input, made of a request that a resource of `root` matches. */
export interface HostileKind {
  readonly name: string
  /** How often it occurs in a cycle of the hostile mix; 0 for one that is only measured alone. */
  readonly weight: number
  readonly make: (inside: string, root: string) => string
}

/** After how many requests the kinds of the hostile mix repeat. */
export const HOSTILE_CYCLE = 15

/** How scenarios of one domain are drawn. Everything comes from the random source given. */
export interface Domain {
  readonly name: DomainName
  readonly action: Action
  readonly drawZone: (random: Random, index: number) => Zone
  /** A canonical request that a resource of the zone matches, or one that narrowly misses. */
  readonly drawRequest: (random: Random, zone: Zone) => string
  /** A canonical request outside every zone. */
  readonly drawStranger: (random: Random) => string
  /** A canonical request that a resource of the zone matches. */
  readonly drawInside: (random: Random, zone: Zone) => string
  /** Bad, odd or expensive input; the weights add up to `HOSTILE_CYCLE`. */
  readonly hostile: readonly HostileKind[]
  /** The request object for `decide`. */
  readonly requestFor: (text: string) => object
}

/** A hostile request near the zone; the kinds take turns. */
export function drawHostile(domain: Domain, random: Random, zone: Zone, turn: number): string {
  const kinds = domain.hostile.map((kind) => [kind.weight, kind] as const)
  return takeTurn(kinds, turn).make(domain.drawInside(random, zone), zone.root)
}

/** Distinct patterns of a zone; a fifth of them deny. */
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

/** One of the values by turns, as often in a cycle as its weight says. */
export function takeTurn<T>(
  choices: readonly (readonly [weight: number, value: T])[],
  turn: number,
): T {
  const cycle = choices.flatMap(([weight, value]) => Array.from({ length: weight }, () => value))
  const value = cycle[turn % cycle.length]
  if (value === undefined) throw new RangeError('nothing to choose from; give at least one value')
  return value
}
