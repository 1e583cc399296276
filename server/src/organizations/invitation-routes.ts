import { listInvitationsResponseSchema, memberSchema, pageQuerySchema } from '@palisade/protocol'
import { z } from 'zod'
import { requireWholePerson } from '../identity/authorize.ts'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { findInvitation, type InvitationService } from './invitation-service.ts'

const tags = ['members']

/** `/api/v1/orgs/:org/invitations` and `/api/v1/user/invitations` */
export function invitationRoutes(invitations: InvitationService): Route[] {
  return [...organizationInvitationRoutes(invitations), ...userInvitationRoutes(invitations)]
}

function organizationInvitationRoutes(invitations: InvitationService): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: '/api/v1/orgs/:org/invitations',
        operationId: 'listInvitations',
        tags,
        summary: 'List the pending invitations of an organization',
        permission: 'organization:admin',
        query: pageQuerySchema,
        answers: { 200: listInvitationsResponseSchema },
      },
      async ({ caller, params, query }) =>
        invitations.listOfOrganization(caller, params.org, query),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: '/api/v1/orgs/:org/invitations/:invited',
        operationId: 'withdrawInvitation',
        tags,
        summary: 'Withdraw the invitation of a user',
        permission: 'organization:admin',
        lookUp: (reader, { org, invited }) => findInvitation(reader, org, invited),
        answers: { 204: z.null() },
      },
      async ({ caller, params: { org, invited } }) => invitations.withdraw(caller, org, invited),
    ),
  ]
}

function userInvitationRoutes(invitations: InvitationService): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: '/api/v1/user/invitations',
        operationId: 'listUserInvitations',
        tags,
        summary: 'List the invitations that you have received',
        callers: 'people',
        query: pageQuerySchema,
        answers: { 200: listInvitationsResponseSchema },
      },
      async ({ caller, query }) => invitations.listOfUser(caller, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: '/api/v1/user/invitations/:inviting/accept',
        operationId: 'acceptInvitation',
        tags,
        summary: 'Accept an invitation and become a member',
        callers: 'people',
        async lookUp(reader, { inviting }, user) {
          await requireWholePerson(reader, user)
          // A member repeats the request when its answer was lost.
          const member = await reader.memberships.find(inviting, user.username)
          if (member === null) await findInvitation(reader, inviting, user.username)
        },
        once: 'kept',
        answers: { 200: memberSchema },
        errors: [404],
      },
      async ({ caller, params, once, send }) =>
        send(await invitations.accept(caller, params.inviting, once())),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: '/api/v1/user/invitations/:inviting',
        operationId: 'declineInvitation',
        tags,
        summary: 'Decline an invitation',
        callers: 'people',
        async lookUp(reader, { inviting }, user) {
          await requireWholePerson(reader, user)
          await findInvitation(reader, inviting, user.username)
        },
        answers: { 204: z.null() },
        errors: [404],
      },
      async ({ caller, params }) => invitations.decline(caller, params.inviting),
    ),
  ]
}
