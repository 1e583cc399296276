import type { PathLoad, RuleProblem } from '@palisade/policy-core'
import type { RuleRecord } from '../store/records.ts'

/**
 * Findings about rules, by record. Records are immutable and a write replaces few of a large
 * policy's, so each rule is checked once. An entry is collected together with its record.
 */
export type KnownRules = WeakMap<RuleRecord, KnownRule>

export interface KnownRule {
  /** Null until the rule is checked. */
  problems: RuleProblems | null
  /** The load of its path patterns; null until it is computed. */
  pathLoad: PathLoad | null
}

/** Problems of a single rule, without regard to its policy. */
export interface RuleProblems {
  /** All problems, including patterns beyond the limits of one pattern. */
  readonly all: readonly RuleProblem[]
  /** Whether the rule compiles without those limits, which an older server may not have had. */
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
