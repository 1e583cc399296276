import type { Range } from '../measure/range.ts'

/** One line of the goals of a whole process; the same meaning of met and missed as for decisions. */
export interface RangedGoal {
  readonly name: string
  readonly unit: string
  readonly isAtLeast: boolean
  readonly must: number
  /** Null when the run did not measure it. */
  readonly reached: number | null
  readonly range: Range | null
}
