import type { Range } from '../measure/range.ts'

/** One goal of a process, with the range over its rounds. Verdicts work as for decisions. */
export interface RangedGoal {
  readonly name: string
  readonly unit: string
  readonly isAtLeast: boolean
  readonly must: number
  /** Null when the run did not measure it. */
  readonly reached: number | null
  readonly range: Range | null
}

/** A goal that the median must not exceed. */
export function atMost(name: string, unit: string, must: number, range: Range | null): RangedGoal {
  return { name, unit, isAtLeast: false, must, reached: range?.median ?? null, range }
}

/** A goal that the median must reach. */
export function atLeast(name: string, unit: string, must: number, range: Range | null): RangedGoal {
  return { name, unit, isAtLeast: true, must, reached: range?.median ?? null, range }
}
