import type { Explanation, NearMiss } from '@palisade/policy-core'
import type { MachineDecision } from '../decision/active-policy.ts'

/**
 * A search looks at every rule. A program that is denied a thousand times a second must not hold
 * up the decisions of the others, so the answers beyond this many are without near misses.
 */
const MAX_A_SECOND = 10

/** Rules that came close to allowing a denied request; empty for any but a default deny. */
export type FindNearMisses = (decision: MachineDecision) => readonly NearMiss[]

/** `uptime` is in monotonic milliseconds. */
export function createNearMisses(
  explain: (request: unknown) => Explanation,
  uptime: () => number,
): FindNearMisses {
  let second = 0
  let searches = 0
  return ({ reason, request }) => {
    if (reason !== 'default_deny') return []
    const now = Math.floor(uptime() / 1_000)
    if (now !== second) {
      second = now
      searches = 0
    }
    searches += 1
    return searches > MAX_A_SECOND ? [] : explain(request).near_misses
  }
}
