import {
  createTeamRequestSchema,
  deleteTeamQuerySchema,
  listTeamsResponseSchema,
  memberSchema,
  pageQuerySchema,
  teamSchema,
  updateTeamRequestSchema,
} from '@palisade/protocol'
import { z } from 'zod'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { findTeam, type TeamService } from './team-service.ts'

const TEAMS = '/api/v1/orgs/:org/teams'
const TEAM = `${TEAMS}/:team` as const
const MEMBER = `${TEAM}/members/:username` as const
const tags = ['teams']
const permission = 'organization:admin'

/** `/api/v1/orgs/:org/teams` */
export function teamRoutes(teams: TeamService): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: TEAMS,
        operationId: 'listTeams',
        tags,
        summary: 'List the teams of an organization, by name',
        permission,
        query: pageQuerySchema,
        answers: { 200: listTeamsResponseSchema },
      },
      async ({ caller, params, query }) => teams.list(caller, params.org, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: TEAMS,
        operationId: 'createTeam',
        tags,
        summary: 'Create a team',
        permission,
        body: createTeamRequestSchema,
        once: 'kept',
        answers: { 201: teamSchema },
      },
      async ({ caller, params, body, once, send }) =>
        send(await teams.create(caller, params.org, body.name, once())),
    ),
    defineRoute(
      {
        method: 'PATCH',
        path: TEAM,
        operationId: 'updateTeam',
        tags,
        summary: 'Change the default decision of a team',
        permission,
        lookUp: (reader, { org, team }) => findTeam(reader, org, team),
        body: updateTeamRequestSchema,
        answers: { 200: teamSchema },
      },
      async ({ caller, params, body }) => teams.update(caller, params.org, params.team, body),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: TEAM,
        operationId: 'deleteTeam',
        tags,
        summary: 'Delete a team that no policy uses, or remove it from their scopes',
        permission,
        lookUp: (reader, { org, team }) => findTeam(reader, org, team),
        query: deleteTeamQuerySchema,
        answers: { 204: z.null() },
        errors: [409],
      },
      async ({ caller, params, query }) => teams.remove(caller, params.org, params.team, query),
    ),
    defineRoute(
      {
        method: 'PUT',
        path: MEMBER,
        operationId: 'addTeamMember',
        tags,
        summary: 'Add a member to a team',
        permission,
        lookUp: (reader, { org, team }) => findTeam(reader, org, team),
        answers: { 200: memberSchema },
      },
      async ({ caller, params: { org, team, username } }) =>
        teams.addMember(caller, org, team, username),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: MEMBER,
        operationId: 'removeTeamMember',
        tags,
        summary: 'Remove a member from a team',
        permission,
        lookUp: (reader, { org, team }) => findTeam(reader, org, team),
        answers: { 204: z.null() },
      },
      async ({ caller, params: { org, team, username } }) =>
        teams.removeMember(caller, org, team, username),
    ),
  ]
}
