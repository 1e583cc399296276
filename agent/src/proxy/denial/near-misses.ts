import type { Explanation, NearMiss } from '@palisade/policy-core'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'

/**
 * A search reads every rule, which may take half a second. Frequent denials of one program must not
 * delay the decisions of others: after a search, answers have no near misses for this many times
 * its duration.
 */
const PAUSE_FACTOR = 19

/** Rules that nearly allowed a denied request; empty except for a default deny. */
export type FindNearMisses = (decision: MachineDecision) => readonly NearMiss[]

/** `uptime` returns monotonic milliseconds. */
export function createNearMisses(
  explain: (request: unknown) => Explanation,
  uptime: () => number,
): FindNearMisses {
  let pausedUntilMs = -Infinity
  return ({ reason, request }) => {
    if (reason !== 'default_deny') return []
    const beganMs = uptime()
    if (beganMs < pausedUntilMs) return []
    const { near_misses: found } = explain(request)
    const endedMs = uptime()
    pausedUntilMs = endedMs + PAUSE_FACTOR * (endedMs - beganMs)
    return found
  }
}
