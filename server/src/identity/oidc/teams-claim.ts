import { teamIdSchema } from '@palisade/protocol'
import { z } from 'zod'
import type { TeamRecord } from '../../store/records.ts'

const MAX_TEAMS = 500
const teamsSchema = z.array(z.string().max(1024)).max(MAX_TEAMS)

/** The strings of a teams claim, UUIDs in lower case; null for an invalid claim. */
export function readTeamsClaim(value: unknown): readonly string[] | null {
  const texts = teamsSchema.safeParse(value)
  if (!texts.success) return null
  return texts.data.map((text) => teamIdSchema.safeParse(text).data ?? text)
}

/**
 * The ids of the named teams. A UUID matches only the id of a team. Otherwise a team whose name is
 * the id of another team would get the members of that team.
 */
export function namedTeams(
  teams: readonly TeamRecord[],
  named: ReadonlySet<string>,
): ReadonlySet<string> {
  const isNamed = ({ id, name }: TeamRecord): boolean =>
    named.has(id) || (named.has(name) && !teamIdSchema.safeParse(name).success)
  return new Set(teams.filter(isNamed).map(({ id }) => id))
}
