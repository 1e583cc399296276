import type { Policy } from '@palisade/policy-core'

/** The teams of a policy; the same object for the same teams. */
export interface Teams {
  /** Unique among the teams of one reader. */
  readonly id: number
  /** Whether these teams include all of `others`. */
  readonly include: (others: Teams) => boolean
  /** Each team separately, for users of a single team. */
  readonly each: () => readonly Teams[]
}

/**
 * Reads the teams of policies; null means every user. Two lists of teams are compared once and the
 * answer is kept, because there may be thousands of both lists and rules.
 */
export function createTeamsReader(): (policy: Policy) => Teams | null {
  const known = new Map<string, Teams>()
  const members = new Map<Teams, readonly string[]>()
  const teamsOf = (ids: ReadonlySet<string>): Teams => {
    const sorted = [...ids].toSorted()
    const key = sorted.join()
    const same = known.get(key)
    if (same !== undefined) return same
    const answers = new Map<Teams, boolean>()
    const teams: Teams = {
      id: known.size,
      include: (others) => {
        const answer =
          answers.get(others) ?? (members.get(others) ?? []).every((team) => ids.has(team))
        answers.set(others, answer)
        return answer
      },
      each: () => sorted.map((team) => teamsOf(new Set([team]))),
    }
    known.set(key, teams)
    members.set(teams, sorted)
    return teams
  }
  return ({ scope }) => {
    const ids = new Set((scope?.teams ?? []).map((team) => team.toLowerCase()))
    return ids.size === 0 ? null : teamsOf(ids)
  }
}
