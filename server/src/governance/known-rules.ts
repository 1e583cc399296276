import type { RuleRecord } from '../store/records.ts'

/**
 * What was found out about rules. A record never changes, and of a large policy nearly all stay, so
 * each is judged and counted once; it is forgotten with the record.
 *
 * One entry for all that is known of a thing: finding and keeping one takes as long as counting a rule.
 */
export interface KnownRules {
  readonly one: WeakMap<RuleRecord, KnownRule>
  /** Rules of whole policies, which never change either. */
  readonly lists: WeakMap<Rules, KnownList>
}

export interface KnownRule {
  /** Nothing was found in it. */
  isGood: boolean
  /** UTF-8 bytes of its JSON; null when they were not counted. */
  bytes: number | null
}

export interface KnownList {
  /** They compile together. */
  isCompilable: boolean
  /** UTF-8 bytes of the JSON of all but the first, with a comma before each; null when not counted. */
  restBytes: number | null
}

export type Rules = readonly RuleRecord[]

export function knownRule({ one }: KnownRules, rule: RuleRecord): KnownRule {
  const known = one.get(rule)
  if (known !== undefined) return known
  const made = { isGood: false, bytes: null }
  one.set(rule, made)
  return made
}

export function knownList({ lists }: KnownRules, rules: Rules): KnownList {
  const known = lists.get(rules)
  if (known !== undefined) return known
  const made = { isCompilable: false, restBytes: null }
  lists.set(rules, made)
  return made
}

/** What is known of `rules` holds for `same` as well: the same rules, as the store has them now. */
export function knowSame({ lists }: KnownRules, rules: Rules, same: Rules): void {
  if (rules.length !== same.length) return
  const known = lists.get(rules)
  if (known !== undefined) lists.set(same, known)
}

export function createKnownRules(): KnownRules {
  return { one: new WeakMap(), lists: new WeakMap() }
}
