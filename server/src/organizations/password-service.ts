import type {
  ChangePasswordRequest,
  PasswordChanged,
  ResetPasswordRequest,
} from '@palisade/protocol'
import { conflict, invalidArgument, permissionDenied } from '../platform/api-error.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { StoreReader, StoreWriter } from '../store/store.ts'
import { authorize } from '../identity/authorize.ts'
import { findMember, requireRank } from './member-service.ts'
import { hashNewPassword } from './new-password.ts'
import { formatCredential, formatPrincipal, type Caller } from '../identity/principal.ts'
import { revokePersonalTokens } from './revoke-user.ts'
import type { PasswordQueue } from '../identity/sign-in/password-queue.ts'
import type { ProvePassword } from '../identity/sign-in/prove-password.ts'
import type { SignInLimits } from '../identity/sign-in/sign-in-limits.ts'

export interface PasswordServiceDeps {
  readonly store: AuditedStore
  readonly passwordQueue: PasswordQueue
  readonly signInLimits: SignInLimits
  readonly provePassword: ProvePassword
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
}

/**
 * A new password ends every session that the old one opened, at the next request. Personal tokens
 * stay unless the request says otherwise. Everything throws ApiError.
 */
export interface PasswordService {
  /** One's own, proved by the old one; a wrong one counts in the limits. */
  change(caller: Caller, request: ChangePasswordRequest): Promise<PasswordChanged>
  /**
   * For a member whose account the organization made and who is in no other, by a caller of higher
   * rank.
   */
  reset(
    caller: Caller,
    org: string,
    username: string,
    request: ResetPasswordRequest,
  ): Promise<PasswordChanged>
}

export function createPasswordService(deps: PasswordServiceDeps): PasswordService {
  const { store } = deps
  return {
    async change(caller, { password, new_password, revoke_tokens }) {
      if (caller.kind !== 'user')
        throw permissionDenied('an organization token has no password; sign in as a user')
      const { username } = caller
      const generation = await proveOld(deps, { ...caller, username }, password)
      if (new_password === password)
        throw invalidArgument('`new_password` must differ from the old one', {
          field: 'new_password',
        })
      const hash = await hashNewPassword(
        deps,
        caller,
        { password: new_password, field: 'new_password' },
        async () => deps.signInLimits.countChange(formatPrincipal(caller)),
      )
      return store.write(caller.author, async (writer) => {
        const user = await writer.users.find(username)
        // The password was changed meanwhile, so the proof of the old one is stale.
        if (user?.password_generation !== generation)
          throw conflict('the password was changed at the same time; sign in again')
        await writer.users.updatePassword(username, hash)
        return finish(deps, writer, username, revoke_tokens)
      })
    },

    async reset(caller, org, username, { password, revoke_tokens }) {
      // A hash takes a slot in a queue that everybody signs in by.
      deps.signInLimits.countReset(formatCredential(caller))
      // Also before the hash, so that a refused request costs no slow hash.
      await store.read((reader) => requireMayReset(reader, caller, org, username))
      const hash = await hashNewPassword(deps, caller, { password, field: 'password' })
      return store.write(caller.author, async (writer) => {
        await requireMayReset(writer, caller, org, username)
        await writer.users.updatePassword(username, hash)
        return finish(deps, writer, username, revoke_tokens)
      })
    },
  }
}

/** The generation of the password that was proved. Throws 403 or 429. */
async function proveOld(
  deps: PasswordServiceDeps,
  { username, author }: Caller & { readonly username: string },
  password: string,
): Promise<number> {
  const user = await deps.provePassword({
    name: username,
    password,
    address: author.address ?? '',
    requestId: author.request_id,
  })
  if (user === null) throw permissionDenied('`password` is not your password')
  return user.password_generation
}

async function requireMayReset(
  reader: StoreReader,
  caller: Caller,
  org: string,
  username: string,
): Promise<void> {
  const access = await authorize(reader, caller, org, 'organization:admin')
  const member = await findMember(reader, org, username)
  // Otherwise the holder of a stolen session could set a password without the old one.
  if (caller.kind === 'user' && caller.username === username)
    throw permissionDenied(
      'change your own password by `PUT /api/v1/user/password`, with the old one',
    )
  requireRank(access.permissions, member.role)
  if (!(await isOfAlone(reader, org, username)))
    throw permissionDenied(
      `only an operator can reset the password of \`${username}\`, ` +
        'who belongs to more than this organization',
    )
}

/**
 * Whether the organization made the user's account, and is the only one with the user as a member.
 */
async function isOfAlone(reader: StoreReader, org: string, username: string): Promise<boolean> {
  const memberships = await reader.memberships.listOfUser(username)
  const owners = await reader.memberships.ownersOfAccount(username)
  return memberships.length === 1 && owners.includes(org)
}

async function finish(
  deps: PasswordServiceDeps,
  writer: StoreWriter,
  username: string,
  revokeTokens: boolean | undefined,
): Promise<PasswordChanged> {
  const revoked_tokens =
    revokeTokens === true ? await revokePersonalTokens(writer, username, deps.now()) : 0
  return { username, revoked_tokens }
}
