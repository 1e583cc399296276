import type { OrganizationClient } from '@palisade/client'
import type { Team } from '@palisade/protocol'
import { notFound } from './find-policy.ts'

/** Finds a team by id, otherwise by name. Throws `ERR_NOT_FOUND`, exit 1. */
export async function findTeam(organization: OrganizationClient, idOrName: string): Promise<Team> {
  const teams = await organization.teams.list()
  const wanted = idOrName.normalize('NFC').trim()
  // The id takes precedence: a team named like another's id must not be found instead.
  const found =
    teams.find(({ id }) => id === wanted.toLowerCase()) ?? teams.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  throw notFound(
    'team',
    idOrName,
    teams.map(({ name }) => name),
  )
}
