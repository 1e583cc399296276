import {
  createTeamRequestSchema,
  deleteTeamQuerySchema,
  listTeamsResponseSchema,
  memberSchema,
  pageQuerySchema,
  teamSchema,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { sendAnswer } from '../http/answer.ts'
import { errorResponses } from '../http/errors/error-responses.ts'
import { idempotencyKeySchema, onceOf } from '../identity/idempotency/idempotent-post.ts'
import type { Admission } from '../identity/admission.ts'
import { findTeam, type TeamService } from './team-service.ts'

const organizationParams = z.object({ org: z.string() })
const teamParams = z.object({ org: z.string(), team: z.string() })
const teamMemberParams = z.object({ org: z.string(), team: z.string(), username: z.string() })
const noQuery = z.strictObject({})

/** `/api/v1/orgs/:org/teams` */
export function teamRoutes(deps: {
  readonly admission: Admission
  readonly teams: TeamService
}): FastifyPluginAsyncZod {
  const { admission, teams } = deps
  const onRequest = admission.organization('organization:admin')
  const onTeamRequest = admission.organization('organization:admin', async (reader, params) => {
    await findTeam(reader, params['org'] ?? '', params['team'] ?? '')
  })
  return async (app) => {
    app.get(
      '/api/v1/orgs/:org/teams',
      {
        onRequest,
        schema: {
          operationId: 'listTeams',
          tags: ['teams'],
          summary: 'List the teams of an organization, by name',
          params: organizationParams,
          querystring: pageQuerySchema,
          response: { 200: listTeamsResponseSchema, ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request) => teams.list(admission.callerOf(request), request.params.org, request.query),
    )

    app.post(
      '/api/v1/orgs/:org/teams',
      {
        onRequest,
        schema: {
          operationId: 'createTeam',
          tags: ['teams'],
          summary: 'Create a team',
          params: organizationParams,
          headers: idempotencyKeySchema,
          querystring: noQuery,
          body: createTeamRequestSchema,
          response: { 201: teamSchema, ...errorResponses([400, 401, 403, 404, 409, 413, 415]) },
        },
      },
      async (request, reply) => {
        const { org } = request.params
        const once = onceOf(admission, request)
        const caller = admission.callerOf(request)
        return sendAnswer(reply, await teams.create(caller, org, request.body.name, once))
      },
    )

    app.delete(
      '/api/v1/orgs/:org/teams/:team',
      {
        onRequest: onTeamRequest,
        schema: {
          operationId: 'deleteTeam',
          tags: ['teams'],
          summary: 'Delete a team that no policy uses, or take it out of those that do',
          params: teamParams,
          querystring: deleteTeamQuerySchema,
          response: { 204: z.null(), ...errorResponses([400, 401, 403, 404, 409]) },
        },
      },
      async (request, reply) => {
        const { org, team } = request.params
        await teams.remove(admission.callerOf(request), org, team, request.query)
        return reply.code(204).send(null)
      },
    )

    app.put(
      '/api/v1/orgs/:org/teams/:team/members/:username',
      {
        onRequest: onTeamRequest,
        schema: {
          operationId: 'addTeamMember',
          tags: ['teams'],
          summary: 'Put a member into a team',
          params: teamMemberParams,
          querystring: noQuery,
          response: { 200: memberSchema, ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request) => {
        const { org, team, username } = request.params
        return teams.addMember(admission.callerOf(request), org, team, username)
      },
    )

    app.delete(
      '/api/v1/orgs/:org/teams/:team/members/:username',
      {
        onRequest: onTeamRequest,
        schema: {
          operationId: 'removeTeamMember',
          tags: ['teams'],
          summary: 'Take a member out of a team',
          params: teamMemberParams,
          querystring: noQuery,
          response: { 204: z.null(), ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request, reply) => {
        const { org, team, username } = request.params
        await teams.removeMember(admission.callerOf(request), org, team, username)
        return reply.code(204).send(null)
      },
    )
  }
}
