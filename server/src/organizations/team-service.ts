import type {
  DeleteTeamQuery,
  ListTeamsResponse,
  Member,
  PageQuery,
  Team,
  UpdateTeamRequest,
} from '@palisade/protocol'
import type { Answer } from '../http/answer.ts'
import { conflict, notFound } from '../platform/api-error.ts'
import { readPage } from '../http/input/read-page.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { OnceRequest } from '../identity/idempotency/answer-once.ts'
import { createOnce } from '../identity/idempotency/idempotent-post.ts'
import { StoreError } from '../store/store-error.ts'
import type { TeamRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import { authorize } from '../identity/authorize.ts'
import { detachTeam } from './detach-team.ts'
import { requireRoom, type Quotas } from '../identity/limits/quotas.ts'
import { findMember } from './member-service.ts'
import type { Caller } from '../identity/principal.ts'

/** Teams of an organization and their members. Every method throws ApiError. */
export interface TeamService {
  list(caller: Caller, org: string, query: PageQuery): Promise<ListTeamsResponse>
  create(caller: Caller, org: string, name: string, once: OnceRequest): Promise<Answer>
  /** A request without an effective change writes no row. */
  update(caller: Caller, org: string, id: string, request: UpdateTeamRequest): Promise<Team>
  /**
   * Refused with 409 while a policy names the team, unless `query` says how to change the policy;
   * that also needs `policies:write`.
   */
  remove(caller: Caller, org: string, id: string, query: DeleteTeamQuery): Promise<void>
  addMember(caller: Caller, org: string, id: string, username: string): Promise<Member>
  removeMember(caller: Caller, org: string, id: string, username: string): Promise<void>
}

export function createTeamService(deps: {
  readonly store: AuditedStore
  readonly quotas: Quotas
  readonly pageTokenKey: Uint8Array
  readonly now: () => Date
  /** A new lower-case UUID. */
  readonly newId: () => string
}): TeamService {
  const { store } = deps
  return {
    list: (caller, org, query) =>
      store.read(async (reader) => {
        await authorize(reader, caller, org, 'organization:admin')
        const list = { of: 'teams', owner: org } as const
        const { rows, next_page_token } = await readPage(deps, list, query, {
          read: (page) => reader.teams.page(org, page),
          positionOf: ({ name }) => name,
        })
        return { data: rows.map(formatTeam), next_page_token }
      }),

    create: (caller, org, name, once) =>
      store
        .write(caller.author, async (writer) => {
          await authorize(writer, caller, org, 'organization:admin')
          return createOnce(writer, once, deps.now(), async () => {
            const count = await writer.teams.count(org)
            requireRoom(count, deps.quotas.teams, 'delete unused teams')
            const team = { id: deps.newId(), name }
            await writer.teams.insert({ ...team, org })
            return team
          })
        })
        .catch((error: unknown) => {
          if (error instanceof StoreError && error.subject === 'team_name')
            throw conflict(`team name \`${name}\` is already in use`)
          throw error
        }),

    update: (caller, org, id, { default: chosen }) =>
      store.write(caller.author, async (writer) => {
        await authorize(writer, caller, org, 'organization:admin')
        const team = await findTeam(writer, org, id)
        if (chosen !== (team.default ?? null))
          await writer.teams.updateDefault(org, team.id, chosen)
        return formatTeam(await findTeam(writer, org, team.id))
      }),

    remove: (caller, org, id, query) =>
      store.write(caller.author, async (writer) => {
        await authorize(writer, caller, org, 'organization:admin')
        if (query.detach !== undefined) await authorize(writer, caller, org, 'policies:write')
        const team = await findTeam(writer, org, id)
        await detachTeam(writer, team, query, deps.now())
        await writer.teams.delete(org, team.id)
      }),

    addMember: (caller, org, id, username) =>
      store.write(caller.author, async (writer) => {
        await authorize(writer, caller, org, 'organization:admin')
        const { id: teamId } = await findTeam(writer, org, id)
        const { teams } = await findMember(writer, org, username)
        if (!teams.includes(teamId))
          requireRoom(teams.length, deps.quotas.teamsOfUser, 'remove the member from other teams')
        await writer.teams.addMember(org, teamId, username)
        return findMember(writer, org, username)
      }),

    removeMember: (caller, org, id, username) =>
      store.write(caller.author, async (writer) => {
        await authorize(writer, caller, org, 'organization:admin')
        const { id: teamId } = await findTeam(writer, org, id)
        if (!(await writer.teams.removeMember(org, teamId, username)))
          throw notFound('the user is not in the team')
      }),
  }
}

/** The team with this id, in any letter case; throws 404. */
export async function findTeam(reader: StoreReader, org: string, id: string): Promise<TeamRecord> {
  const team = await reader.teams.find(org, id.toLowerCase())
  if (team === null) throw notFound('team not found')
  return team
}

function formatTeam({ org: _org, ...team }: TeamRecord): Team {
  return team
}
