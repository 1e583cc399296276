import type { ListInvitationsResponse, Member, PageQuery } from '@palisade/protocol'
import type { Answer } from '../http/answer.ts'
import { notFound } from '../platform/api-error.ts'
import { readPage } from '../http/input/read-page.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { OnceRequest } from '../identity/idempotency/answer-once.ts'
import { changeOnce } from '../identity/idempotency/idempotent-post.ts'
import type { InvitationRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import { authorize, requirePerson, requireWholePerson } from '../identity/authorize.ts'
import { requireRoom, type Quotas } from '../identity/limits/quotas.ts'
import type { WriteLimits } from '../identity/limits/write-limits.ts'
import { findMember } from './member-service.ts'
import type { Caller } from '../identity/principal.ts'

export interface InvitationServiceDeps {
  readonly store: AuditedStore
  readonly quotas: Quotas
  readonly writeLimits: WriteLimits
  readonly pageTokenKey: Uint8Array
  readonly now: () => Date
}

/**
 * Invitations of users whose accounts an organization did not make. Only the user's own decision
 * makes the user a member. Otherwise an organization could add a name that a stranger had
 * registered first. Every method throws ApiError.
 */
export interface InvitationService {
  /** That wait for an answer. */
  listOfOrganization(
    caller: Caller,
    org: string,
    query: PageQuery,
  ): Promise<ListInvitationsResponse>
  withdraw(caller: Caller, org: string, username: string): Promise<void>
  listOfUser(caller: Caller, query: PageQuery): Promise<ListInvitationsResponse>
  /**
   * Accepts an invitation. A session without all rights of the user gets 403. A member keeps the
   * current role.
   */
  accept(caller: Caller, org: string, once: OnceRequest): Promise<Answer>
  decline(caller: Caller, org: string): Promise<void>
}

export function createInvitationService(deps: InvitationServiceDeps): InvitationService {
  const { store, now } = deps
  return {
    listOfOrganization: (caller, org, query) =>
      store.read(async (reader) => {
        await authorize(reader, caller, org, 'organization:admin')
        const list = { of: 'organization_invitations', owner: org } as const
        const { rows, next_page_token } = await readPage(deps, list, query, {
          read: (page) => reader.invitations.page(org, page),
          positionOf: ({ username }) => username,
        })
        return { data: [...rows], next_page_token }
      }),

    withdraw: (caller, org, username) =>
      store.write(caller.author, async (writer) => {
        await authorize(writer, caller, org, 'organization:admin')
        await findInvitation(writer, org, username)
        await writer.invitations.delete(org, username)
      }),

    listOfUser: (caller, query) =>
      store.read(async (reader) => {
        const { username } = requirePerson(caller)
        const list = { of: 'user_invitations', owner: username } as const
        const { rows, next_page_token } = await readPage(deps, list, query, {
          read: (page) => reader.invitations.pageOfUser(username, page),
          positionOf: ({ org }) => org,
        })
        return { data: [...rows], next_page_token }
      }),

    accept(caller, org, once) {
      deps.writeLimits.countOwn(caller)
      return store.write(caller.author, async (writer) => {
        const person = requirePerson(caller)
        await requireWholePerson(writer, person)
        return changeOnce(writer, once, now(), async () => {
          const member = await writer.memberships.find(org, person.username)
          if (member !== null) return findMember(writer, org, person.username)
          const { username, role } = await findInvitation(writer, org, person.username)
          const count = await writer.memberships.count(org)
          requireRoom(count, deps.quotas.members, 'the organization is full')
          await writer.invitations.delete(org, username)
          await writer.memberships.insert({ org, username, role })
          return { username, role, teams: [] } satisfies Member
        })
      })
    },

    decline: (caller, org) =>
      store.write(caller.author, async (writer) => {
        const person = requirePerson(caller)
        await requireWholePerson(writer, person)
        await findInvitation(writer, org, person.username)
        await writer.invitations.delete(org, person.username)
      }),
  }
}

/** Throws 404, the same where there is no such organization. */
export async function findInvitation(
  reader: StoreReader,
  org: string,
  username: string,
): Promise<InvitationRecord> {
  const invitation = await reader.invitations.find(org, username)
  if (invitation === null) throw notFound('invitation not found')
  return invitation
}
