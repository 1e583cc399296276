import type { PathLoad, RuleProblem } from '@palisade/policy-core'
import type { RuleRecord } from '../store/records.ts'

/**
 * What was found out about rules. A record never changes, and of a large policy nearly all stay, so
 * each is judged once; it is forgotten with the record.
 */
export type KnownRules = WeakMap<RuleRecord, KnownRule>

export interface KnownRule {
  /** Null when it was not checked. */
  problems: RuleProblems | null
  /** The load of its path patterns; null when that was not read. */
  pathLoad: PathLoad | null
}

/** Problems of a rule by itself. */
export interface RuleProblems {
  /** Those with the limits of one pattern among them. */
  readonly all: readonly RuleProblem[]
  /** Whether it compiles without those limits, as rules of an older server may. */
  readonly compiles: boolean
}

export type Rules = readonly RuleRecord[]

export function knownRule(known: KnownRules, rule: RuleRecord): KnownRule {
  const found = known.get(rule)
  if (found !== undefined) return found
  const made: KnownRule = { problems: null, pathLoad: null }
  known.set(rule, made)
  return made
}

export function createKnownRules(): KnownRules {
  return new WeakMap()
}
