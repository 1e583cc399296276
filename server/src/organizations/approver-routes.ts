import {
  listTeamApproversResponseSchema,
  pageQuerySchema,
  teamApproverSchema,
} from '@palisade/protocol'
import { z } from 'zod'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { readPage } from '../http/input/read-page.ts'
import { authorize } from '../identity/authorize.ts'
import { requireRoom } from '../identity/limits/quotas.ts'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { notFound } from '../platform/api-error.ts'
import { findMember } from './member-service.ts'
import { findTeam } from './team-service.ts'

const APPROVERS = '/api/v1/orgs/:org/teams/:team/approvers'
const APPROVER = `${APPROVERS}/:username` as const
const MAX_APPROVERS = 50
const tags = ['teams']
const permission = 'organization:admin'

export interface ApproverRouteDeps {
  readonly store: AuditedStore
  readonly pageTokenKey: Uint8Array
}

/** `/api/v1/orgs/:org/teams/:team/approvers` */
export function approverRoutes(deps: ApproverRouteDeps): Route[] {
  const { store } = deps
  return [
    defineRoute(
      {
        method: 'GET',
        path: APPROVERS,
        operationId: 'listTeamApprovers',
        tags,
        summary: 'List the members who may answer access requests of a team, by name',
        permission,
        lookUp: (reader, { org, team }) => findTeam(reader, org, team),
        query: pageQuerySchema,
        answers: { 200: listTeamApproversResponseSchema },
      },
      async ({ caller, params: { org, team }, query }) =>
        store.read(async (reader) => {
          await authorize(reader, caller, org, permission)
          const { id } = await findTeam(reader, org, team)
          const list = { of: 'team_approvers', owner: `${org} ${id}` } as const
          const { rows, next_page_token } = await readPage(deps, list, query, {
            read: (page) => reader.accessRequests.approvers(org, id, page),
            positionOf: (username) => username,
          })
          return { data: rows.map((username) => ({ username })), next_page_token }
        }),
    ),
    defineRoute(
      {
        method: 'PUT',
        path: APPROVER,
        operationId: 'addTeamApprover',
        tags,
        summary: 'Let a member answer access requests of the members of a team',
        permission,
        lookUp: (reader, { org, team }) => findTeam(reader, org, team),
        answers: { 200: teamApproverSchema },
      },
      async ({ caller, params: { org, team, username } }) =>
        store.write(caller.author, async (writer) => {
          await authorize(writer, caller, org, permission)
          const { id } = await findTeam(writer, org, team)
          await findMember(writer, org, username)
          const page = { after: '', limit: MAX_APPROVERS }
          const known = await writer.accessRequests.approvers(org, id, page)
          if (!known.includes(username)) {
            requireRoom(known.length, MAX_APPROVERS, 'remove another approver of the team')
            await writer.accessRequests.addApprover(org, id, username)
          }
          return { username }
        }),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: APPROVER,
        operationId: 'removeTeamApprover',
        tags,
        summary: 'Remove an approver of a team',
        permission,
        lookUp: (reader, { org, team }) => findTeam(reader, org, team),
        answers: { 204: z.null() },
      },
      async ({ caller, params: { org, team, username } }) =>
        store.write(caller.author, async (writer) => {
          await authorize(writer, caller, org, permission)
          const { id } = await findTeam(writer, org, team)
          if (!(await writer.accessRequests.removeApprover(org, id, username)))
            throw notFound('the user is no approver of the team')
        }),
    ),
  ]
}
