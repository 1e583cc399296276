import type {
  CreateMemberRequest,
  CreatedMember,
  ListMembersResponse,
  MadeTokensQuery,
  Member,
  PageQuery,
  Permission,
  Role,
  UpdatedMember,
} from '@palisade/protocol'
import type { Answer } from '../http/answer.ts'
import { conflict, notFound, permissionDenied } from '../platform/api-error.ts'
import { readPage } from '../http/input/read-page.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { requireUnanswered, type OnceRequest } from '../identity/idempotency/answer-once.ts'
import { createOnce } from '../identity/idempotency/idempotent-post.ts'
import type { StoreReader } from '../store/store.ts'
import {
  authorize,
  requirePermission,
  requireWholePerson,
  type Access,
} from '../identity/authorize.ts'
import { requireRoom, type Quotas } from '../identity/limits/quotas.ts'
import { endMemberAccess } from './end-member-access.ts'
import { countMadeTokens, revokeMadeTokens } from './made-tokens.ts'
import { hashNewPassword } from './new-password.ts'
import { formatUser, type Caller, type Principal } from '../identity/principal.ts'
import { missingPermissions, permissionsOf } from '../identity/roles.ts'
import type { PasswordQueue } from '../identity/sign-in/password-queue.ts'
import type { SignInLimits } from '../identity/sign-in/sign-in-limits.ts'

export interface MemberServiceDeps {
  readonly store: AuditedStore
  readonly quotas: Quotas
  readonly passwordQueue: PasswordQueue
  readonly signInLimits: SignInLimits
  readonly pageTokenKey: Uint8Array
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
}

/** The members of an organization and their roles. Every method throws ApiError. */
export interface MemberService {
  list(caller: Caller, org: string, query: PageQuery): Promise<ListMembersResponse>
  /**
   * Adds a user, and makes the account if it does not exist. An account that this organization did
   * not make is invited: its password may be known to others.
   */
  create(
    caller: Caller,
    org: string,
    request: CreateMemberRequest,
    once: OnceRequest,
  ): Promise<Answer>
  /** Revokes the organization tokens that the user made when `query` says so. */
  updateRole(
    caller: Caller,
    org: string,
    username: string,
    change: MadeTokensQuery & { readonly role: Role },
  ): Promise<UpdatedMember>
  /**
   * Also revokes the user's devices in the organization, and with `query` the organization tokens
   * that the user made. By default these stay: they belong to the organization, and programs that
   * use them would stop. The removal of another user, or of tokens, needs `organization:admin`.
   */
  remove(caller: Caller, org: string, username: string, query: MadeTokensQuery): Promise<void>
}

export function createMemberService(deps: MemberServiceDeps): MemberService {
  const { store } = deps
  return {
    list: (caller, org, query) =>
      store.read(async (reader) => {
        await authorize(reader, caller, org, 'organization:admin')
        const list = { of: 'members', owner: org } as const
        const { rows, next_page_token } = await readPage(deps, list, query, {
          read: (page) => reader.memberships.page(org, page),
          positionOf: ({ username }) => username,
        })
        const usernames = rows.map(({ username }) => username)
        const teams = await reader.teams.listOfSome(org, usernames)
        const data = rows.map(({ username, role }) => ({
          username,
          role,
          teams: teams.get(username) ?? [],
        }))
        return { data, next_page_token }
      }),

    async create(caller, org, { username, role, password }, once) {
      const hasPassword = password !== undefined
      const password_hash = hasPassword
        ? await hashNewPassword(deps, caller, { password, field: 'password' }, async () => {
            await store.read(async (reader) => {
              await requireMayAdd(reader, caller, org, role)
              await requireUnanswered(reader, once, deps.now())
              await requireAddable(reader, deps.quotas, { org, username, hasPassword })
            })
            deps.signInLimits.countNewMember(org)
          })
        : null
      return store.write(caller.author, async (writer) => {
        await requireMayAdd(writer, caller, org, role)
        return createOnce(writer, once, deps.now(), async () => {
          const isNew = await requireAddable(writer, deps.quotas, { org, username, hasPassword })
          const created_at = deps.now().toISOString()
          if (isNew) await writer.users.insert({ username, password_hash, created_at })
          const member = { username, role, teams: [] }
          if (isNew || (await writer.memberships.isOwnerOfAccount(org, username))) {
            await writer.memberships.insert({ org, username, role }, { ownsAccount: isNew })
            return { ...member, status: 'active' } satisfies CreatedMember
          }
          const invited_by = caller.author.actor
          await writer.invitations.insert({ org, username, role, invited_by, created_at })
          return { ...member, status: 'invited' } satisfies CreatedMember
        })
      })
    },

    updateRole: (caller, org, username, { role, organization_tokens }) =>
      store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, org, 'organization:admin')
        const current = await findMember(writer, org, username)
        requireRank(access.permissions, current.role)
        requireRank(access.permissions, role)
        const made = { username, now: deps.now() }
        if (current.role !== role) {
          if (current.role === 'owner') await requireAnotherOwner(writer, org, username)
          await writer.memberships.updateRole(org, username, role)
          // Or a former owner could still enrol machines.
          if (!permissionsOf(role).includes('organization:admin'))
            await writer.enrolmentTokens.revokeMadeBy(
              org,
              formatUser(username),
              made.now.toISOString(),
            )
        }
        if (organization_tokens === 'revoke') await revokeMadeTokens(writer, org, made)
        const left = await countMadeTokens(writer, org, made)
        return { ...current, role, organization_tokens: left }
      }),

    remove: (caller, org, username, query) =>
      store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, org, null)
        await requireMayRemove(writer, { principal: caller, access }, username)
        if (query.organization_tokens !== undefined) requirePermission(access, 'organization:admin')
        const current = await findMember(writer, org, username)
        requireRank(access.permissions, current.role)
        if (current.role === 'owner') await requireAnotherOwner(writer, org, username)
        await writer.memberships.delete(org, username)
        // Or they would come back to life if the user joined again.
        const now = deps.now()
        await writer.devices.revokeOfUser(org, username, now.toISOString())
        await endMemberAccess(writer, { org, username }, { now, actor: caller.author.actor })
        // Otherwise the former member could still enrol a machine.
        await writer.enrolmentTokens.revokeMadeBy(org, formatUser(username), now.toISOString())
        if (query.organization_tokens === 'revoke')
          await revokeMadeTokens(writer, org, { username, now })
      }),
  }
}

/** The member with their teams; throws 404. */
export async function findMember(
  reader: StoreReader,
  org: string,
  username: string,
): Promise<Member> {
  const membership = await reader.memberships.find(org, username)
  if (membership === null) throw notFound('member not found')
  return { username, role: membership.role, teams: await reader.teams.listOfUser(org, username) }
}

/** Throws 403 unless a person leaves, as `requireWholePerson` asks, or an administrator removes. */
export async function requireMayRemove(
  reader: StoreReader,
  { principal, access }: { readonly principal: Principal; readonly access: Access },
  username: string,
): Promise<void> {
  const isSelf = principal.kind === 'user' && principal.username === username
  if (isSelf && !access.permissions.includes('organization:admin'))
    await requireWholePerson(reader, principal)
  else requirePermission(access, 'organization:admin')
}

/** A caller cannot grant, change or remove rights beyond their own. */
export function requireRank(held: readonly Permission[], role: Role): void {
  const [missing] = missingPermissions(permissionsOf(role), held)
  if (missing !== undefined)
    throw permissionDenied(`the role \`${role}\` has \`${missing}\`, which you do not have`)
}

async function requireAnotherOwner(
  reader: StoreReader,
  org: string,
  username: string,
): Promise<void> {
  if (!(await reader.memberships.hasOtherOwner(org, username)))
    throw conflict(`\`${username}\` is the last owner; make another member owner first`)
}

async function requireMayAdd(
  reader: StoreReader,
  caller: Caller,
  org: string,
  role: Role,
): Promise<void> {
  const { permissions } = await authorize(reader, caller, org, 'organization:admin')
  requireRank(permissions, role)
}

/**
 * Answers whether the user is new. A password is for a new one only, or an organization could take
 * over another's member.
 */
async function requireAddable(
  reader: StoreReader,
  quotas: Quotas,
  {
    org,
    username,
    hasPassword,
  }: { readonly org: string; readonly username: string; readonly hasPassword: boolean },
): Promise<boolean> {
  if ((await reader.memberships.find(org, username)) !== null)
    throw conflict(`\`${username}\` is a member already`)
  if ((await reader.invitations.find(org, username)) !== null)
    throw conflict(`\`${username}\` is invited already, and has not answered yet`)
  const count = (await reader.memberships.count(org)) + (await reader.invitations.count(org))
  requireRoom(count, quotas.members, 'remove members who have left')
  const isNew = (await reader.users.find(username)) === null
  if (!isNew && hasPassword)
    throw conflict(`user \`${username}\` exists already; leave out \`password\``)
  return isNew
}
