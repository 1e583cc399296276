import type { Verdict } from './verdict.ts'

/** Everything that matches a request in one index: what it says in bits, and which groups it is. */
export interface MatchSet {
  /** The union of the groups' flags, see `flags.ts`. */
  readonly flags: number
  readonly groups: readonly number[]
  /** What the set decides about the first and the second action; a cache of `Verdicts` alone. */
  first: Verdict | null
  second: Verdict | null
}

export function createMatchSet(groups: readonly number[], flags: number): MatchSet {
  return { flags, groups, first: null, second: null }
}
