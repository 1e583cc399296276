import type { PathMeter } from '../language/find-path.ts'

/**
 * The work that one call of `lint` may still do. It bounds the time for hostile policies. A
 * question that exceeds it becomes the finding `undecided`.
 */
export interface Budget {
  /** Pairs of resources that may still be compared. */
  comparisons: number
  /** Steps for questions about paths; see `findPath`. */
  readonly paths: PathMeter
}

/** About two seconds of work, far more than a large ordinary policy set needs. */
export function createBudget(): Budget {
  return { comparisons: 500_000, paths: { left: 2_000_000 } }
}

const STEPS_OF_ONE_QUESTION = 40_000

/** Asks one question about paths. One question may take a fiftieth of the whole budget. */
export function withinBudget<T>(budget: Budget, ask: (meter: PathMeter) => T): T {
  const allowed = Math.max(0, Math.min(STEPS_OF_ONE_QUESTION, budget.paths.left))
  const meter = { left: allowed }
  const answer = ask(meter)
  budget.paths.left -= allowed - Math.max(0, meter.left)
  return answer
}
