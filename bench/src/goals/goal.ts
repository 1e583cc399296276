import type { DomainName, Spread } from '../case.ts'

/** One goal with its bound and the measured figure. */
export interface Goal {
  readonly name: string
  readonly domain: DomainName
  /** Number of resources. Null when the goal does not depend on a size. */
  readonly size: number | null
  readonly unit: 'x' | 'us' | 'B' | 'ms'
  /** Whether `must` is a lower bound; otherwise it is an upper bound. */
  readonly isAtLeast: boolean
  readonly must: number
  /** Null when the run did not measure it. */
  readonly reached: number | null
  /** Quartiles of `reached`. Null for a single reading, or a figure computed from two runs. */
  readonly spread: Spread | null
  /** An explanation, such as the name of the closest peer; may be empty. */
  readonly note: string
}

export type Verdict = 'met' | 'missed' | 'not measured'

/** Compares the measured median. The quartiles beside it show its uncertainty. */
export function verdictOf({
  reached,
  isAtLeast,
  must,
}: Pick<Goal, 'reached' | 'isAtLeast' | 'must'>): Verdict {
  if (reached === null) return 'not measured'
  return (isAtLeast ? reached >= must : reached <= must) ? 'met' : 'missed'
}

/** Adds the verdict to each goal, for the results file. */
export function withVerdicts<G extends Pick<Goal, 'reached' | 'isAtLeast' | 'must'>>(
  goals: readonly G[],
): (G & { readonly verdict: Verdict })[] {
  return goals.map((goal) => ({ ...goal, verdict: verdictOf(goal) }))
}

/** Formats how many goals have each verdict. */
export function countVerdicts(goals: readonly Parameters<typeof verdictOf>[0][]): string {
  const verdicts = goals.map(verdictOf)
  const of = (verdict: Verdict): number => verdicts.filter((each) => each === verdict).length
  return `${of('met')} met, ${of('missed')} missed, ${of('not measured')} not measured`
}
