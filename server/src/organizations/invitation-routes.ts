import { listInvitationsResponseSchema, memberSchema, pageQuerySchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { sendAnswer } from '../http/answer.ts'
import { errorResponses } from '../http/errors/error-responses.ts'
import { idempotencyKeySchema, onceOf } from '../identity/idempotency/idempotent-post.ts'
import type { Admission } from '../identity/admission.ts'
import { requireWholePerson } from '../identity/authorize.ts'
import { findInvitation, type InvitationService } from './invitation-service.ts'

interface InvitationRouteDeps {
  readonly admission: Admission
  readonly invitations: InvitationService
}

const organizationParams = z.object({ org: z.string() })
const invitationParams = z.object({ org: z.string(), invited: z.string() })
const noQuery = z.strictObject({})

/** `/api/v1/orgs/:org/invitations` and `/api/v1/user/invitations` */
export function invitationRoutes(deps: InvitationRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    await app.register(organizationInvitationRoutes(deps))
    await app.register(userInvitationRoutes(deps))
  }
}

function organizationInvitationRoutes({
  admission,
  invitations,
}: InvitationRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.get(
      '/api/v1/orgs/:org/invitations',
      {
        onRequest: admission.organization('organization:admin'),
        schema: {
          operationId: 'listInvitations',
          tags: ['members'],
          summary: 'List the invitations that wait for an answer',
          params: organizationParams,
          querystring: pageQuerySchema,
          response: { 200: listInvitationsResponseSchema, ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request) => {
        const { org } = request.params
        return invitations.listOfOrganization(admission.callerOf(request), org, request.query)
      },
    )

    app.delete(
      '/api/v1/orgs/:org/invitations/:invited',
      {
        onRequest: admission.organization('organization:admin', async (reader, params) => {
          await findInvitation(reader, params['org'] ?? '', params['invited'] ?? '')
        }),
        schema: {
          operationId: 'withdrawInvitation',
          tags: ['members'],
          summary: 'Withdraw the invitation of a user',
          params: invitationParams,
          querystring: noQuery,
          response: { 204: z.null(), ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request, reply) => {
        const { org, invited } = request.params
        await invitations.withdraw(admission.callerOf(request), org, invited)
        return reply.code(204).send(null)
      },
    )
  }
}

function userInvitationRoutes({
  admission,
  invitations,
}: InvitationRouteDeps): FastifyPluginAsyncZod {
  const onDecline = admission.person(async (reader, { inviting = '' }, user) => {
    await requireWholePerson(reader, user)
    await findInvitation(reader, inviting, user.username)
  })
  const onAccept = admission.person(async (reader, { inviting = '' }, user) => {
    await requireWholePerson(reader, user)
    // One who has accepted may repeat the request, whose answer was lost.
    const member = await reader.memberships.find(inviting, user.username)
    if (member === null) await findInvitation(reader, inviting, user.username)
  })
  const params = z.object({ inviting: z.string() })
  return async (app) => {
    app.get(
      '/api/v1/user/invitations',
      {
        onRequest: admission.person(),
        schema: {
          operationId: 'listUserInvitations',
          tags: ['members'],
          summary: 'The organizations that would have you as a member',
          querystring: pageQuerySchema,
          response: { 200: listInvitationsResponseSchema, ...errorResponses([400, 401, 403]) },
        },
      },
      async (request) => invitations.listOfUser(admission.callerOf(request), request.query),
    )

    app.post(
      '/api/v1/user/invitations/:inviting/accept',
      {
        onRequest: onAccept,
        schema: {
          operationId: 'acceptInvitation',
          tags: ['members'],
          summary: 'Accept an invitation and become a member',
          params,
          headers: idempotencyKeySchema,
          querystring: noQuery,
          response: { 200: memberSchema, ...errorResponses([400, 401, 403, 404, 409]) },
        },
      },
      async (request, reply) => {
        const once = onceOf(admission, request)
        const caller = admission.callerOf(request)
        return sendAnswer(reply, await invitations.accept(caller, request.params.inviting, once))
      },
    )

    app.delete(
      '/api/v1/user/invitations/:inviting',
      {
        onRequest: onDecline,
        schema: {
          operationId: 'declineInvitation',
          tags: ['members'],
          summary: 'Decline an invitation',
          params,
          querystring: noQuery,
          response: { 204: z.null(), ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request, reply) => {
        await invitations.decline(admission.callerOf(request), request.params.inviting)
        return reply.code(204).send(null)
      },
    )
  }
}
