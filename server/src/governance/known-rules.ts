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
}

export function createKnownRules(): KnownRules {
  return { good: new WeakSet(), bytes: new WeakMap() }
}
