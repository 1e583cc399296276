import type { Decision } from '@palisade/policy-core'

/** Counts the decisions of enforcement points since the agent started. */
export interface DecisionTally {
  add(decision: Decision): void
  read(): { readonly allowed: number; readonly denied: number }
}

export function createDecisionTally(): DecisionTally {
  let allowed = 0
  let denied = 0
  return {
    add(decision) {
      if (decision.decision === 'allow') allowed += 1
      else denied += 1
    },
    read: () => ({ allowed, denied }),
  }
}
