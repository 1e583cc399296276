import type { RuleMatch } from '../decision/decision.ts'

/** Everything that matches a request in one index: what it says in bits, and which groups it is. */
export interface MatchSet {
  /** The union of the groups' flags, see `group-flags.ts`. */
  readonly flags: number
  readonly groups: readonly number[]
  /** Rule lists made so far, by action and kind: a cache that belongs to whoever lists rules. */
  readonly lists: (readonly RuleMatch[] | undefined)[]
}

export function createMatchSet(groups: readonly number[], flags: number): MatchSet {
  return { flags, groups, lists: [undefined, undefined, undefined, undefined] }
}
