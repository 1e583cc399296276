import {
  createMemberRequestSchema,
  createdMemberSchema,
  listMembersResponseSchema,
  madeTokensQuerySchema,
  pageQuerySchema,
  updateMemberRequestSchema,
  updatedMemberSchema,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { sendAnswer } from '../http/answer.ts'
import { errorResponses } from '../http/errors/error-responses.ts'
import { idempotencyKeySchema, onceOf } from '../identity/idempotency/idempotent-post.ts'
import type { Admission } from '../identity/admission.ts'
import { findMember, requireMayRemove, type MemberService } from './member-service.ts'

const organizationParams = z.object({ org: z.string() })
const memberParams = z.object({ org: z.string(), username: z.string() })
const noQuery = z.strictObject({})

/** `/api/v1/orgs/:org/members` */
export function memberRoutes(deps: {
  readonly admission: Admission
  readonly members: MemberService
}): FastifyPluginAsyncZod {
  const { admission, members } = deps
  const onMemberRequest = admission.organization('organization:admin', async (reader, params) => {
    await findMember(reader, params['org'] ?? '', params['username'] ?? '')
  })
  return async (app) => {
    app.get(
      '/api/v1/orgs/:org/members',
      {
        onRequest: admission.organization('organization:admin'),
        schema: {
          operationId: 'listMembers',
          tags: ['members'],
          summary: 'List the members of an organization, by name',
          params: organizationParams,
          querystring: pageQuerySchema,
          response: { 200: listMembersResponseSchema, ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request) =>
        members.list(admission.callerOf(request), request.params.org, request.query),
    )

    app.post(
      '/api/v1/orgs/:org/members',
      {
        onRequest: admission.organization('organization:admin'),
        schema: {
          operationId: 'createMember',
          tags: ['members'],
          summary:
            'Add a member, making the user when new; invite the user of another organization',
          params: organizationParams,
          headers: idempotencyKeySchema,
          querystring: noQuery,
          body: createMemberRequestSchema,
          response: {
            201: createdMemberSchema,
            ...errorResponses([400, 401, 403, 404, 409, 413, 415, 429]),
          },
        },
      },
      async (request, reply) => {
        const { org } = request.params
        const once = onceOf(admission, request, { hasSecret: request.body.password !== undefined })
        const caller = admission.callerOf(request)
        return sendAnswer(reply, await members.create(caller, org, request.body, once))
      },
    )

    app.patch(
      '/api/v1/orgs/:org/members/:username',
      {
        onRequest: onMemberRequest,
        schema: {
          operationId: 'updateMember',
          tags: ['members'],
          summary: 'Change the role of a member',
          params: memberParams,
          querystring: madeTokensQuerySchema,
          body: updateMemberRequestSchema,
          response: {
            200: updatedMemberSchema,
            ...errorResponses([400, 401, 403, 404, 409, 413, 415]),
          },
        },
      },
      async (request) => {
        const { org, username } = request.params
        const change = { ...request.query, ...request.body }
        return members.updateRole(admission.callerOf(request), org, username, change)
      },
    )

    app.delete(
      '/api/v1/orgs/:org/members/:username',
      {
        onRequest: admission.organization(null, async (reader, names, caller) => {
          await requireMayRemove(reader, caller, names['username'] ?? '')
          await findMember(reader, names['org'] ?? '', names['username'] ?? '')
        }),
        schema: {
          operationId: 'deleteMember',
          tags: ['members'],
          summary: 'Remove a member and revoke his devices; anybody may so leave by himself',
          params: memberParams,
          querystring: madeTokensQuerySchema,
          response: { 204: z.null(), ...errorResponses([400, 401, 403, 404, 409]) },
        },
      },
      async (request, reply) => {
        const { org, username } = request.params
        await members.remove(admission.callerOf(request), org, username, request.query)
        return reply.code(204).send(null)
      },
    )
  }
}
