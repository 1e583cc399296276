import { teamIdSchema } from '@palisade/protocol'
import { z } from 'zod'
import type { TeamRecord } from '../../store/records.ts'

const MAX_TEAMS = 500
const teamsSchema = z.array(z.string().max(1024)).max(MAX_TEAMS)

/** The texts of a teams claim, in lower case where they are UUIDs; null for anything else. */
export function readTeamsClaim(value: unknown): readonly string[] | null {
  const texts = teamsSchema.safeParse(value)
  if (!texts.success) return null
  return texts.data.map((text) => teamIdSchema.safeParse(text).data ?? text)
}

/**
 * The ids of the teams that are named. A UUID means a team's id only: whoever may name a team must
 * not catch the members of another by it.
 */
export function namedTeams(
  teams: readonly TeamRecord[],
  named: ReadonlySet<string>,
): ReadonlySet<string> {
  const isNamed = ({ id, name }: TeamRecord): boolean =>
    named.has(id) || (named.has(name) && !teamIdSchema.safeParse(name).success)
  return new Set(teams.filter(isNamed).map(({ id }) => id))
}
