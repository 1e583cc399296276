import {
  createMemberRequestSchema,
  createdMemberSchema,
  listMembersResponseSchema,
  madeTokensQuerySchema,
  pageQuerySchema,
  updateMemberRequestSchema,
  updatedMemberSchema,
} from '@palisade/protocol'
import { z } from 'zod'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { findMember, requireMayRemove, type MemberService } from './member-service.ts'

const MEMBERS = '/api/v1/orgs/:org/members'
const MEMBER = `${MEMBERS}/:username` as const
const tags = ['members']
const permission = 'organization:admin'

/** `/api/v1/orgs/:org/members` */
export function memberRoutes(members: MemberService): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: MEMBERS,
        operationId: 'listMembers',
        tags,
        summary: 'List the members of an organization, by name',
        permission,
        query: pageQuerySchema,
        answers: { 200: listMembersResponseSchema },
      },
      async ({ caller, params, query }) => members.list(caller, params.org, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: MEMBERS,
        operationId: 'createMember',
        tags,
        summary: 'Add a member; a new user is created, a user of another organization is invited',
        permission,
        body: createMemberRequestSchema,
        once: 'kept',
        answers: { 201: createdMemberSchema },
        errors: [429],
      },
      async ({ caller, params, body, once, send }) => {
        const guard = once({ hasSecret: body.password !== undefined })
        return send(await members.create(caller, params.org, body, guard))
      },
    ),
    defineRoute(
      {
        method: 'PATCH',
        path: MEMBER,
        operationId: 'updateMember',
        tags,
        summary: 'Change the role of a member',
        permission,
        lookUp: (reader, { org, username }) => findMember(reader, org, username),
        query: madeTokensQuerySchema,
        body: updateMemberRequestSchema,
        answers: { 200: updatedMemberSchema },
        errors: [409],
      },
      async ({ caller, params: { org, username }, query, body }) =>
        members.updateRole(caller, org, username, { ...query, ...body }),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: MEMBER,
        operationId: 'deleteMember',
        tags,
        summary: 'Remove a member and revoke their devices; members can remove themselves',
        permission: null,
        async lookUp(reader, { org, username }, who) {
          await requireMayRemove(reader, who, username)
          await findMember(reader, org, username)
        },
        query: madeTokensQuerySchema,
        answers: { 204: z.null() },
        errors: [403, 409],
      },
      async ({ caller, params: { org, username }, query }) =>
        members.remove(caller, org, username, query),
    ),
  ]
}
