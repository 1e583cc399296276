import type { CaseResult, LeftOut } from '../case.ts'
import type { Goal, Verdict } from '../goals/goal.ts'

export type JudgedGoal = Goal & { readonly verdict: Verdict }

/**
 * All results of one run. It has no arrays of plain values, because prettier formats these unlike
 * `JSON.stringify`.
 */
export interface Results {
  readonly mode: 'full' | 'quick'
  readonly started_at: string
  readonly machine: {
    readonly node: string
    readonly v8: string
    readonly processor: string
    readonly processors: number
    /** One-minute load average at the start. Above 0.5 the machine was busy. */
    readonly load: number
  }
  readonly goals: readonly JudgedGoal[]
  readonly results: readonly CaseResult[]
  readonly left_out: readonly LeftOut[]
}
