import { PERMISSIONS } from '@palisade/protocol'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { OPERATOR } from '../history/author.ts'
import type { StoreWriter } from '../store/store.ts'
import { createToken } from './access-token-service.ts'
import { hashPassword } from '../identity/sign-in/password.ts'

const PASSWORD_BYTES = 18
const FIRST_TOKEN_DAYS = 365

/** The result that an operator sees once. */
export interface CreatedOrganization {
  readonly org: string
  readonly username: string
  /** Null for an invited user, whose password stays. */
  readonly password: string | null
  /** Null for an invited user, whose account is not the operator's to sign in with. */
  readonly personal_token: string | null
  /** `invited` for an existing user, who owns the organization after accepting the invitation. */
  readonly status: 'active' | 'invited'
}

export interface CreateOrganizationDeps {
  readonly store: AuditedStore
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly newId: () => string
}

export interface OrganizationRequest {
  readonly name: string
  readonly owner: string
  readonly entitled: boolean
}

/**
 * Makes an organization with its owner and a personal token that holds all permissions for a year.
 * An existing user is invited, as by an owner. Throws StoreError `ERR_STORE_CONFLICT`
 * (`organization`) when the name is taken, and the error of `precondition`; in both cases the store
 * is unchanged.
 */
export async function createOrganization(
  deps: CreateOrganizationDeps,
  { name, owner, entitled }: OrganizationRequest,
  precondition: (writer: StoreWriter) => Promise<void> = async () => {},
): Promise<CreatedOrganization> {
  const created_at = deps.now().toISOString()
  const fresh = Buffer.from(deps.random(PASSWORD_BYTES)).toString('base64url')
  const password_hash = await hashPassword(fresh, deps.random)
  return deps.store.write(OPERATOR, async (writer) => {
    await precondition(writer)
    await writer.organizations.insert({
      name,
      entitled,
      resolve_unlisted_names: false,
      created_at,
    })
    if ((await writer.users.find(owner)) !== null) {
      const invited_by = OPERATOR.actor
      const invitation = { org: name, username: owner, role: 'owner' as const, created_at }
      await writer.invitations.insert({ ...invitation, invited_by })
      const nothing = { password: null, personal_token: null }
      return { org: name, username: owner, ...nothing, status: 'invited' as const }
    }
    await writer.users.insert({ username: owner, password_hash, created_at })
    const membership = { org: name, username: owner, role: 'owner' as const }
    await writer.memberships.insert(membership, { ownsAccount: true })
    const { token } = await createToken(
      deps,
      writer,
      {
        name: `first token of ${name}`,
        permissions: [...PERMISSIONS],
        expires_in_days: FIRST_TOKEN_DAYS,
      },
      { owner: { kind: 'personal', username: owner }, author: OPERATOR, parent: null },
    )
    const secrets = { password: fresh, personal_token: token }
    return { org: name, username: owner, ...secrets, status: 'active' as const }
  })
}
