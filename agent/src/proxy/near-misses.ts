import type { Explanation, NearMiss } from '@palisade/policy-core'
import type { MachineDecision } from '../decision/active-policy.ts'

/**
 * A search looks at every rule, which takes from microseconds to half a second. A program that is
 * denied a thousand times a second must not hold up the decisions of the others: after a search
 * there is none for so many times as long as it took, and answers are without near misses.
 */
const RESTS_A_SEARCH = 19

/** Rules that came close to allowing a denied request; empty for any but a default deny. */
export type FindNearMisses = (decision: MachineDecision) => readonly NearMiss[]

/** `uptime` is in monotonic milliseconds. */
export function createNearMisses(
  explain: (request: unknown) => Explanation,
  uptime: () => number,
): FindNearMisses {
  let restedAtMs = -Infinity
  return ({ reason, request }) => {
    if (reason !== 'default_deny') return []
    const beganMs = uptime()
    if (beganMs < restedAtMs) return []
    const { near_misses: found } = explain(request)
    const endedMs = uptime()
    restedAtMs = endedMs + RESTS_A_SEARCH * (endedMs - beganMs)
    return found
  }
}
