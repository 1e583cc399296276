import type { CompileOptions, PolicySet, Rule } from '@palisade/policy-core'
import type { Random } from '../../bench/src/workload/random.ts'

/** A rule without its identity. */
export type DraftRule = Pick<Rule, 'actions' | 'decision' | 'resources'>

/** The part of a policy set that is not rules. */
export type Surroundings = Omit<PolicySet, 'policies' | 'local'> & CompileOptions

export interface Draft {
  readonly rules: readonly DraftRule[]
  /** Overrides what is drawn for every family alike. */
  readonly surroundings?: Surroundings
  /** A request that the family is about; requests near every rule are made for all families. */
  readonly ask?: () => unknown
}

/** A kind of policies that an index may stumble over. */
export interface Family {
  readonly name: string
  /** Above it one request would take the reference too long, or nothing new would be said. */
  readonly maxResources: number
  /** Microseconds that the reference takes for one resource and request, if more than a few. */
  readonly effort?: number
  /** About `count` resources. Everything comes from `random`. */
  readonly draw: (random: Random, count: number) => Draft
}

/** One rule a resource, a third of them denies. */
export function connectRules(random: Random, resources: readonly string[]): DraftRule[] {
  return resources.map((resource) => ({
    actions: random.pick(CONNECT_ACTIONS),
    decision: drawDecision(random),
    resources: [resource],
  }))
}

/** The same for paths. */
export function pathRules(random: Random, resources: readonly string[]): DraftRule[] {
  return resources.map((resource) => ({
    actions: random.pick(PATH_ACTIONS),
    decision: drawDecision(random),
    resources: [resource],
  }))
}

/** `count` values, each drawn anew. */
export function drawMany<T>(count: number, draw: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => draw(index))
}

function drawDecision(random: Random): Rule['decision'] {
  return random.next() < 0.33 ? 'deny' : 'allow'
}

const CONNECT_ACTIONS: readonly Rule['actions'][] = [
  ['connect:tcp'],
  ['connect:tcp'],
  ['connect:udp'],
  ['connect:tcp', 'connect:udp'],
]
const PATH_ACTIONS: readonly Rule['actions'][] = [['read'], ['read'], ['write'], ['read', 'write']]
