import type { OrganizationClient } from '@palisade/client'
import type { Team } from '@palisade/protocol'
import { notFound } from './find-policy.ts'

/** The team with this id, otherwise the one with this name. Throws `ERR_NOT_FOUND`, exit 1. */
export async function findTeam(organization: OrganizationClient, idOrName: string): Promise<Team> {
  const teams = await organization.teams.list()
  const wanted = idOrName.normalize('NFC').trim()
  // An id wins: a name that looks like the id of another must not be found in its place.
  const found =
    teams.find(({ id }) => id === wanted.toLowerCase()) ?? teams.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  throw notFound(
    'team',
    idOrName,
    teams.map(({ name }) => name),
  )
}
