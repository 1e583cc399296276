import type { Verdict } from '../../goals/goal.ts'
import type { Results } from '../../report/results.ts'
import type { AgentsResult } from '../cases/agents.ts'
import type { RangedGoal } from '../../goals/ranged-goal.ts'
import type { ServerFigures } from '../goals.ts'

/** All results of one run of the server. */
export interface ServerResults extends ServerFigures {
  readonly mode: 'full' | 'quick'
  readonly started_at: string
  readonly machine: Results['machine']
  readonly goals: readonly (RangedGoal & { readonly verdict: Verdict })[]
  readonly agents: readonly AgentsResult[]
}
