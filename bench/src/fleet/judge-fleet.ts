import type { Verdict } from '../goals/goal.ts'
import type { FleetSummary } from './summarize.ts'

/** One goal of the fleet. */
export interface FleetGoal {
  readonly name: string
  readonly must: number
  readonly unit: 's' | 'x steady'
  readonly isAtLeast: boolean
  /** Null when the run did not reach the value or ended earlier. */
  readonly reached: number | null
  readonly verdict: Verdict
}

/** Compares a run with the promised convergence, and with bounds that detect a second wave. */
export function judgeFleet({ convergence, back }: FleetSummary): FleetGoal[] {
  const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000)
  return [
    most('change, polling alone, 99.9 % have it', 's', 300, seconds(convergence.p999)),
    most('return: polls in any 10 s', 'x steady', 1.5, back.polls_peak),
    most('return: all requests in any 10 s', 'x steady', 2, back.requests_peak),
    most('return + 5 min: polls in any 10 s', 'x steady', 1.2, back.later_polls_peak),
    least('return + 5 min: polls in any 10 s', 'x steady', 0.8, back.later_polls_least),
  ]
}

function most(name: string, unit: FleetGoal['unit'], must: number, reached: number | null) {
  return judge({ name, unit, must, reached, isAtLeast: false })
}

function least(name: string, unit: FleetGoal['unit'], must: number, reached: number | null) {
  return judge({ name, unit, must, reached, isAtLeast: true })
}

/**
 * A convergence time that was not reached, or NaN, is missed. Other missing figures are not
 * measured.
 */
function judge(goal: Omit<FleetGoal, 'verdict'>): FleetGoal {
  const { reached, must, isAtLeast, unit } = goal
  if (reached === null && unit !== 's') return { ...goal, verdict: 'not measured' }
  const isMet = reached !== null && (isAtLeast ? reached >= must : reached <= must)
  return { ...goal, verdict: isMet ? 'met' : 'missed' }
}
