import * as fc from 'fast-check'
import { expect } from 'vitest'
import { casesOfRun, factorOfRun, seedOfRun } from '../run-size.ts'

/** Milliseconds that one law may take on a slow machine; some take 40 s on a quiet one. */
export const LAW_TIMEOUT_MS = 1_200_000

interface Size {
  /** How many values of the arbitrary are tried. */
  readonly runs: number
  /** How many cases one value holds, such as the requests put to one policy set. */
  readonly casesPerRun?: number
}

interface Outcomes {
  /**
   * The outcomes that made up less than their share of all that were tallied. A law that holds
   * because its generator makes nothing but trivial misses says nothing. None for a run with fewer
   * cases than usual, whose shares are a matter of luck.
   */
  rarerThan(shares: Readonly<Record<string, number>>): string[]
}

/**
 * Tries `check` with everything that `arbitrary` makes; `check` throws at a breach, and the error
 * has seed and path of the smallest one found. `tally` counts the outcomes that have to occur.
 *
 * The seed is `PALISADE_SEED`, or a new one; it is printed with the number of cases, which is
 * multiplied by `PALISADE_CASES`.
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
  process.stdout.write(`${expect.getState().currentTestName}: ${summary}\n`)
  return {
    rarerThan(least) {
      if (factorOfRun() < 1) return []
      return Object.keys(least).filter(
        (outcome) => (counts.get(outcome) ?? 0) < least[outcome]! * total,
      )
    },
  }
}
