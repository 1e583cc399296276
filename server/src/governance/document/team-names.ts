import { teamIdSchema } from '@palisade/protocol'
import type { TeamRecord } from '../../store/records.ts'

/** The teams of one organization, as documents write them. */
export interface TeamNames {
  /** Returns the team id for a name or a UUID; null for an unknown team. */
  idOf(text: string): string | null
  /** Returns the name of a team, or its id when the name has the form of a UUID. */
  shownAs(id: string): string
}

export function createTeamNames(teams: readonly TeamRecord[]): TeamNames {
  const byName = new Map(teams.map(({ id, name }) => [name, id]))
  const byId = new Map(teams.map((team) => [team.id, team]))
  return {
    idOf(text) {
      // A UUID is always an id: otherwise a team named like another team's id could pass for it.
      const id = teamIdSchema.safeParse(text)
      if (id.success) return byId.has(id.data) ? id.data : null
      return byName.get(text) ?? null
    },
    shownAs(id) {
      const name = byId.get(id)?.name ?? id
      return teamIdSchema.safeParse(name).success ? id : name
    },
  }
}
