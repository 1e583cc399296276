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
  /** Null where there is nothing to aim for beyond. */
  readonly aim: number | null
  /** Null when the run did not measure it. */
  readonly reached: number | null
  /** Quartiles of what was reached; null for a single reading, or one made of two runs. */
  readonly spread: Spread | null
  /** What decided it, such as the peer that came closest; empty where there is nothing to add. */
  readonly note: string
}

export type Verdict = 'met' | 'missed' | 'not measured'

/** Judges by the median as it was measured; the quartiles beside it say how sure that is. */
export function verdictOf(
  { reached, isAtLeast }: Pick<Goal, 'reached' | 'isAtLeast'>,
  bound: number,
): Verdict {
  if (reached === null) return 'not measured'
  return (isAtLeast ? reached >= bound : reached <= bound) ? 'met' : 'missed'
}

/** Goals as results are written, with what became of each. */
export function withVerdicts<
  G extends Pick<Goal, 'reached' | 'isAtLeast' | 'must'> & { readonly aim: number | null },
>(
  goals: readonly G[],
): (G & { readonly must_verdict: Verdict; readonly aim_verdict: Verdict | null })[] {
  return goals.map((goal) => ({
    ...goal,
    must_verdict: verdictOf(goal, goal.must),
    aim_verdict: goal.aim === null ? null : verdictOf(goal, goal.aim),
  }))
}
