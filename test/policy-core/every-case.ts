import * as fc from 'fast-check'
import { expect } from 'vitest'
import { casesOfRun, factorOfRun, isFullRun, seedOfRun } from '../lanes/run-size.ts'

/** Time limit in milliseconds of one law at full size, generous for slow machines. */
export const LAW_TIMEOUT_MS = isFullRun() ? 1_200_000 : 60_000

interface Size {
  /** Number of values drawn from the arbitrary. */
  readonly runs: number
  /** Number of cases per value, such as requests per policy set. */
  readonly casesPerRun?: number
}

interface Outcomes {
  /**
   * Returns the outcomes below their least share of all tallied ones. This detects generators that
   * produce trivial cases, for which a law proves little. Returns an empty list for a run smaller
   * than the full size, whose shares depend on chance.
   */
  rarerThan(shares: Readonly<Record<string, number>>): string[]
}

/**
 * Runs `check` with values of `arbitrary`. `check` throws for a counterexample, and the error
 * reports seed and path of the smallest one. `tally` counts the outcomes for `rarerThan`.
 *
 * The seed is `PALISADE_SEED`, or random. It is printed with the number of cases, which
 * `PALISADE_CASES` multiplies.
 */
export function everyCase<T>(
  { runs, casesPerRun = 1 }: Size,
  arbitrary: fc.Arbitrary<T>,
  check: (value: T, tally: (outcome: string) => void) => void,
): Outcomes {
  const seed = seedOfRun()
  const numRuns = casesOfRun(runs)
  const counts = new Map<string, number>()
  const tally = (outcome: string) => counts.set(outcome, (counts.get(outcome) ?? 0) + 1)

  fc.assert(
    fc.property(arbitrary, (value) => check(value, tally)),
    { seed, numRuns },
  )

  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const shares = [...counts].map(([outcome, n]) => `${outcome} ${((100 * n) / total).toFixed(1)} %`)
  const summary = [`${numRuns * casesPerRun} cases`, `seed ${seed}`, ...shares].join(', ')
  if (isFullRun()) process.stdout.write(`${expect.getState().currentTestName}: ${summary}\n`)
  return {
    rarerThan(least) {
      if (factorOfRun() < 1) return []
      return Object.keys(least).filter(
        (outcome) => (counts.get(outcome) ?? 0) < least[outcome]! * total,
      )
    },
  }
}
