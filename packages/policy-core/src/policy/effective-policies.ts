import type { Policy } from './policy.ts'

/**
 * The policies that apply to one user: every policy without teams, and every policy one of whose
 * teams is in `userTeams`. Without `userTeams` (a device without a user) only the former.
 *
 * Team UUIDs are compared without regard to letter case. Order is kept; O(policies × teams).
 */
export function effectivePolicies<P extends Policy>(
  policies: readonly P[],
  userTeams: readonly string[] = [],
): P[] {
  const mine = new Set(userTeams.map((team) => team.toLowerCase()))
  return policies.filter((policy) => {
    const teams = policy.scope?.teams ?? []
    return teams.length === 0 || teams.some((team) => mine.has(team.toLowerCase()))
  })
}
