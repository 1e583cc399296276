import { ClientError, type OrganizationClient } from '@palisade/client'
import type { DetailedPolicySummary, Team } from '@palisade/protocol'
import { notFound } from './find-policy.ts'

const TEAM_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Finds a team by id, otherwise by name. Throws `ERR_NOT_FOUND`, exit 1. */
export async function findTeam(organization: OrganizationClient, idOrName: string): Promise<Team> {
  return requireTeam(await organization.teams.list(), idOrName)
}

/** Resolves names and ids of teams to ids. Throws `ERR_NOT_FOUND`, exit 1. */
export async function resolveTeams(
  organization: OrganizationClient,
  written: readonly string[],
): Promise<string[]> {
  const parts = written.flatMap((text) => text.split(','))
  // The server checks that the teams exist.
  if (parts.every((part) => TEAM_ID.test(part.trim()))) return parts.map((part) => part.trim())
  const teams = await organization.teams.list()
  // A team's name may contain a comma, so only text that names no team is split.
  const ids = written
    .flatMap((text) => (lookUp(teams, text) === undefined ? text.split(',') : [text]))
    .map((text) => requireTeam(teams, text).id)
  return [...new Set(ids)]
}

/** Names of teams by their ids. */
export type TeamNames = ReadonlyMap<string, string>

/**
 * Reads the names of the teams that policies apply to. Empty for callers who may not list teams:
 * editors and auditors read policies without that permission.
 */
export async function readTeamNames(
  organization: OrganizationClient,
  policies: readonly Pick<DetailedPolicySummary, 'scope'>[],
): Promise<TeamNames> {
  if (policies.every(({ scope }) => (scope.teams ?? []).length === 0)) return new Map()
  try {
    const teams = await organization.teams.list()
    return new Map(teams.map(({ id, name }) => [id, name]))
  } catch (error) {
    if (error instanceof ClientError && error.api?.status === 403) return new Map()
    throw error
  }
}

function requireTeam(teams: readonly Team[], written: string): Team {
  const found = lookUp(teams, written)
  if (found !== undefined) return found
  throw notFound(
    'team',
    written,
    teams.map(({ name }) => name),
  )
}

/** The id takes precedence: a team named like another's id must not be found instead. */
function lookUp(teams: readonly Team[], written: string): Team | undefined {
  const wanted = written.normalize('NFC').trim()
  const id = wanted.toLowerCase()
  return teams.find((team) => team.id === id) ?? teams.find(({ name }) => name === wanted)
}
