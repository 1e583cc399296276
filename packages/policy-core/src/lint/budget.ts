import type { PathMeter } from '../language/find-path.ts'

/**
 * What one call of `lint` may still spend, so that hostile policies take no longer than large ones.
 * What is left undecided is a finding.
 */
export interface Budget {
  /** Pairs of resources that may be held against each other. */
  comparisons: number
  /** Steps of questions about paths, see `findPath`. */
  readonly paths: PathMeter
}

/** Some two seconds. 25,000 ordinary rules take less than a tenth of it. */
export function createBudget(): Budget {
  return { comparisons: 500_000, paths: { left: 2_000_000 } }
}

const STEPS_OF_ONE_QUESTION = 40_000

/** Puts one question about paths, which may take a fiftieth of all. */
export function withinBudget<T>(budget: Budget, ask: (meter: PathMeter) => T): T {
  const allowed = Math.max(0, Math.min(STEPS_OF_ONE_QUESTION, budget.paths.left))
  const meter = { left: allowed }
  const answer = ask(meter)
  budget.paths.left -= allowed - Math.max(0, meter.left)
  return answer
}
