import type { Verdict } from './verdict.ts'

/** All groups that match a request in one index, with their joined flags. */
export interface MatchSet {
  /** The union of the groups' flags, see `flags.ts`. */
  readonly flags: number
  readonly groups: readonly number[]
  /** Verdicts of the set, by slot. A cache that only `Verdicts` uses. */
  verdicts: SlotVerdicts
}

/** Null means not computed yet. */
export type SlotVerdicts = readonly (Verdict | null)[]

export const NOT_CONCLUDED: SlotVerdicts = [null, null, null, null]

export function createMatchSet(groups: readonly number[], flags: number): MatchSet {
  return { flags, groups, verdicts: NOT_CONCLUDED }
}
