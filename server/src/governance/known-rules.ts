import type { PathLoad, RuleProblem } from '@palisade/policy-core'
import type { RuleRecord } from '../store/records.ts'

/**
 * What was found out about rules. A record never changes, and of a large policy nearly all stay, so
 * each is judged once; it is forgotten with the record.
 */
export interface KnownRules {
  readonly one: WeakMap<RuleRecord, KnownRule>
  /** Rules of whole policies, which never change either. */
  readonly lists: WeakMap<Rules, KnownList>
}

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

export interface KnownList {
  /** They compile together. */
  isCompilable: boolean
  /** As that of a rule. */
  pathLoad: PathLoad | null
}

export type Rules = readonly RuleRecord[]

export function knownRule({ one }: KnownRules, rule: RuleRecord): KnownRule {
  const known = one.get(rule)
  if (known !== undefined) return known
  const made: KnownRule = { problems: null, pathLoad: null }
  one.set(rule, made)
  return made
}

export function knownList({ lists }: KnownRules, rules: Rules): KnownList {
  const known = lists.get(rules)
  if (known !== undefined) return known
  const made: KnownList = { isCompilable: false, pathLoad: null }
  lists.set(rules, made)
  return made
}

/**
 * What is known of the rules `before` holds for `after` as well: the same with a good rule of their domain
 * behind them, as the store has them now. `pathLoad` is that of all.
 */
export function knowGrown(
  { lists }: KnownRules,
  before: Rules,
  { after, pathLoad }: { readonly after: Rules; readonly pathLoad: PathLoad },
): void {
  const known = lists.get(before)
  if (known === undefined || after.length !== before.length + 1) return
  lists.set(after, { isCompilable: known.isCompilable, pathLoad })
}

export function createKnownRules(): KnownRules {
  return { one: new WeakMap(), lists: new WeakMap() }
}
