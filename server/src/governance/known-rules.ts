import type { RuleRecord } from '../store/records.ts'

/**
 * What was found out about rules. A record never changes, and of a large policy nearly all stay, so
 * each is judged and counted once; it is forgotten with the record.
 */
export interface KnownRules {
  /** Those in which nothing was found. */
  readonly good: WeakSet<RuleRecord>
  /** UTF-8 bytes of their JSON. */
  readonly bytes: WeakMap<RuleRecord, number>
  /** Rules of whole policies, which never change either, that compile together. */
  readonly compilable: WeakSet<Rules>
  /** UTF-8 bytes of the JSON of such rules but the first, with a comma before each. */
  readonly restBytes: WeakMap<Rules, number>
}

export type Rules = readonly RuleRecord[]

/** What is known of `rules` holds for `same` as well: the same rules, as the store has them now. */
export function knowSame({ compilable, restBytes }: KnownRules, rules: Rules, same: Rules): void {
  if (rules.length !== same.length) return
  if (compilable.has(rules)) compilable.add(same)
  const bytes = restBytes.get(rules)
  if (bytes !== undefined) restBytes.set(same, bytes)
}

export function createKnownRules(): KnownRules {
  return {
    good: new WeakSet(),
    bytes: new WeakMap(),
    compilable: new WeakSet(),
    restBytes: new WeakMap(),
  }
}
