import type { Verdict } from './verdict.ts'

/** Everything that matches a request in one index: what it says in bits, and which groups it is. */
export interface MatchSet {
  /** The union of the groups' flags, see `flags.ts`. */
  readonly flags: number
  readonly groups: readonly number[]
  /** What the set decides about an action, by slot; a cache of `Verdicts` alone. */
  verdicts: SlotVerdicts
}

/** Null where nothing was concluded yet. */
export type SlotVerdicts = readonly (Verdict | null)[]

export const NOT_CONCLUDED: SlotVerdicts = [null, null, null, null]

export function createMatchSet(groups: readonly number[], flags: number): MatchSet {
  return { flags, groups, verdicts: NOT_CONCLUDED }
}
