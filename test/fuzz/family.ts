import {
  FILESYSTEM_ACTIONS,
  NETWORK_ACTIONS,
  type CompileOptions,
  type PolicySet,
  type Rule,
} from '@palisade/policy-core'
import type { Random } from '../../bench/src/workload/random.ts'

/** A rule without id and name. */
export type DraftRule = Pick<Rule, 'actions' | 'decision' | 'resources'>

/** The settings of a policy set apart from its rules. */
export type PolicySettings = Omit<PolicySet, 'policies' | 'local'> & CompileOptions

export interface Draft {
  readonly rules: readonly DraftRule[]
  /** Overrides the settings that are drawn for every family. */
  readonly settings?: PolicySettings
  /** Draws a request typical of the family. Every family also gets requests near its rules. */
  readonly ask?: () => unknown
}

/** A kind of policy set that is difficult for an index. */
export interface Family {
  readonly name: string
  /** The largest useful size. Larger sets make the reference too slow or test nothing new. */
  readonly maxResources: number
  /** Microseconds of the reference per resource and request, when it is more than a few. */
  readonly effort?: number
  /** Draws about `count` resources. All randomness comes from `random`. */
  readonly draw: (random: Random, count: number) => Draft
}

/** Creates one rule per resource; a third of them deny. */
export function connectRules(random: Random, resources: readonly string[]): DraftRule[] {
  return resources.map((resource) => ({
    actions: random.pick(CONNECT_ACTIONS),
    decision: drawDecision(random),
    resources: [resource],
  }))
}

/** As `connectRules`, for paths. */
export function pathRules(random: Random, resources: readonly string[]): DraftRule[] {
  return resources.map((resource) => ({
    actions: random.pick(PATH_ACTIONS),
    decision: drawDecision(random),
    resources: [resource],
  }))
}

/** Draws `count` values independently. */
export function drawMany<T>(count: number, draw: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => draw(index))
}

function drawDecision(random: Random): Rule['decision'] {
  return random.next() < 0.33 ? 'deny' : 'allow'
}

const CONNECT_ACTIONS = actionsOf(NETWORK_ACTIONS)
const PATH_ACTIONS = actionsOf(FILESYSTEM_ACTIONS)

/** The first action twice, each other once, and all together. */
function actionsOf(list: Rule['actions']): readonly Rule['actions'][] {
  return [list.slice(0, 1), ...list.map((action) => [action]), list]
}
