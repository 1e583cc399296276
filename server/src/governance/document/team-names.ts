import { teamIdSchema } from '@palisade/protocol'
import type { TeamRecord } from '../../store/records.ts'

/** The teams of one organization, as documents write them. */
export interface TeamNames {
  /** The id for a name or a UUID; null for neither. */
  idOf(text: string): string | null
  /** What a document shows for an id. */
  shownAs(id: string): string
}

export function createTeamNames(teams: readonly TeamRecord[]): TeamNames {
  const byName = new Map(teams.map(({ id, name }) => [name, id]))
  const byId = new Map(teams.map((team) => [team.id, team]))
  return {
    idOf(text) {
      // A UUID is an id and nothing else: whoever may name a team must not be able to have it taken
      // for another one.
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
