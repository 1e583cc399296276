import type { DomainName, Spread } from '../case.ts'

/** One line of the goals: what was wanted, what was reached. */
export interface Goal {
  readonly name: string
  readonly domain: DomainName
  /** In resources; null where the goal is not about a size. */
  readonly size: number | null
  readonly unit: 'x' | 'us' | 'B' | 'ms'
  /** Whether the figure must be at least the bounds; otherwise at most. */
  readonly isAtLeast: boolean
  readonly must: number
  /** Null when the run did not measure it. */
  readonly reached: number | null
  /** Quartiles of what was reached; null for a single reading, or one made of two runs. */
  readonly spread: Spread | null
  /** What decided it, such as the peer that came closest; empty where there is nothing to add. */
  readonly note: string
}

export type Verdict = 'met' | 'missed' | 'not measured'

/** Judges by the median as it was measured; the quartiles beside it say how sure that is. */
export function verdictOf({
  reached,
  isAtLeast,
  must,
}: Pick<Goal, 'reached' | 'isAtLeast' | 'must'>): Verdict {
  if (reached === null) return 'not measured'
  return (isAtLeast ? reached >= must : reached <= must) ? 'met' : 'missed'
}

/** Goals as results are written. */
export function withVerdicts<G extends Pick<Goal, 'reached' | 'isAtLeast' | 'must'>>(
  goals: readonly G[],
): (G & { readonly verdict: Verdict })[] {
  return goals.map((goal) => ({ ...goal, verdict: verdictOf(goal) }))
}

/** How many goals have each verdict. */
export function countVerdicts(goals: readonly Parameters<typeof verdictOf>[0][]): string {
  const verdicts = goals.map(verdictOf)
  const of = (verdict: Verdict): number => verdicts.filter((each) => each === verdict).length
  return `${of('met')} met, ${of('missed')} missed, ${of('not measured')} not measured`
}
