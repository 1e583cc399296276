import type { PathMeter } from '@palisade/policy-core/internal'
import { requireSteps } from '../max-steps.ts'

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
const DEFAULT_MAX_STEPS = 2_000_000

/** Throws `ERR_OPTION_INVALID`. */
export function createBudget(maxSteps: number = DEFAULT_MAX_STEPS): Budget {
  return { comparisons: requireSteps(maxSteps) / 4, paths: { left: maxSteps } }
}

const STEPS_OF_ONE_QUESTION = 40_000

/** Asks one question about paths. It may take a fiftieth of the default budget. */
export function withinBudget<T>(budget: Budget, ask: (meter: PathMeter) => T): T {
  const allowed = Math.max(0, Math.min(STEPS_OF_ONE_QUESTION, budget.paths.left))
  const meter = { left: allowed }
  const answer = ask(meter)
  budget.paths.left -= allowed - Math.max(0, meter.left)
  return answer
}
