import type { CaseResult, LeftOut } from '../case.ts'
import type { Goal, Verdict } from '../goals/goal.ts'

export type JudgedGoal = Goal & { readonly verdict: Verdict }

/**
 * Everything one run found. Holds no list of plain values, so that it is formatted as it stands.
 */
export interface Results {
  readonly mode: 'full' | 'quick'
  readonly started_at: string
  readonly machine: {
    readonly node: string
    readonly v8: string
    readonly processor: string
    readonly processors: number
    /** One-minute load average at the start: above 0.5 the machine was not quiet. */
    readonly load: number
  }
  readonly goals: readonly JudgedGoal[]
  readonly results: readonly CaseResult[]
  readonly left_out: readonly LeftOut[]
}
