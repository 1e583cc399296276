import { PERMISSIONS, type Role } from '@palisade/protocol'
import { argon2Sync, randomBytes } from 'node:crypto'
import type { AuditedStore } from '../../server/src/history/audit/audited-store.ts'
import { OPERATOR, type Author } from '../../server/src/history/author.ts'
import { createToken } from '../../server/src/organizations/access-token-service.ts'
import type {
  CreateOrganizationDeps,
  OrganizationRequest,
} from '../../server/src/organizations/create-organization.ts'

export interface OwnedOrganization {
  readonly org: string
  readonly username: string
  /** Null for a user who existed. */
  readonly password: string | null
  readonly personal_token: string
}

/**
 * A hash of the least cost that Argon2 has. The server verifies it as any other, in a hundredth of
 * the time; tests of its own cost set the password by `hashPassword`.
 */
export function hashCheaply(password: string): string {
  const nonce = randomBytes(16)
  const cost = { memory: 8, passes: 1, parallelism: 1, tagLength: 16 }
  const tag = argon2Sync('argon2id', { message: password, nonce, ...cost })
  const [salt, hash] = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''))
  return `$argon2id$v=19$m=8,t=1,p=1$${salt}$${hash}`
}

/** Makes an organization as `createOrganization` does. An existing user owns it at once. */
export function createOwnedOrganization(
  deps: CreateOrganizationDeps,
  { name: org, owner: username, entitled }: OrganizationRequest,
): Promise<OwnedOrganization> {
  const created_at = deps.now().toISOString()
  const password = `the first password of ${username}`
  return deps.store.write(OPERATOR, async (writer) => {
    const options = { entitled, resolve_unlisted_names: false }
    await writer.organizations.insert({ name: org, ...options, created_at })
    const isNew = (await writer.users.find(username)) === null
    if (isNew)
      await writer.users.insert({ username, password_hash: hashCheaply(password), created_at })
    const membership = { org, username, role: 'owner' as const }
    await writer.memberships.insert(membership, { ownsAccount: isNew })
    const { token } = await createToken(
      deps,
      writer,
      { name: `first token of ${org}`, permissions: [...PERMISSIONS], expires_in_days: 365 },
      { owner: { kind: 'personal', username }, author: OPERATOR, parent: null },
    )
    return { org, username, password: isNew ? password : null, personal_token: token }
  })
}

export interface NewMember {
  readonly org: string
  readonly username: string
  readonly role: Role
  readonly password: string
  /** Who adds the member. */
  readonly author: Author
}

/** Adds a user who did not exist, as the server does for an owner. */
export async function insertMember(
  deps: { readonly store: AuditedStore; readonly now: () => Date },
  { org, username, role, password, author }: NewMember,
): Promise<void> {
  const created_at = deps.now().toISOString()
  await deps.store.write(author, async (writer) => {
    await writer.users.insert({ username, password_hash: hashCheaply(password), created_at })
    await writer.memberships.insert({ org, username, role }, { ownsAccount: true })
  })
}
