import type { Role } from '@palisade/protocol'
import type { AccessTokenRecord } from '../store/records.ts'
import type { StoreReader, StoreWriter } from '../store/store.ts'
import { formatUser } from '../identity/principal.ts'
import { missingPermissions, permissionsOf } from '../identity/roles.ts'

const USER = formatUser('')

/** Whether the token may do more than its maker may now, as `exceeds_creator` says it. */
export type ExceedsCreator = (token: AccessTokenRecord) => boolean | null

/**
 * Tokens of an organization serve it, so they outlive the rights of their makers: a pipeline does
 * not stop when a member leaves. An owner must see which do, because their makers know the secrets.
 */
export async function compareWithCreators(
  reader: StoreReader,
  org: string,
  tokens: readonly AccessTokenRecord[],
): Promise<ExceedsCreator> {
  const makers = new Set(tokens.map(findMaker).filter((maker) => maker !== null))
  const roles = await reader.memberships.rolesOfSome(org, [...makers])
  return (token) => {
    const maker = findMaker(token)
    return maker === null ? null : exceeds(token, roles.get(maker))
  }
}

/** The user that made a token of an organization; null for a token or an operator. */
export function findMaker({ kind, created_by }: AccessTokenRecord): string | null {
  if (kind === 'personal' || !created_by.startsWith(USER)) return null
  return created_by.slice(USER.length)
}

/** How many live tokens of the organization the user made. */
export async function countMadeTokens(
  reader: StoreReader,
  org: string,
  { username, now }: { readonly username: string; readonly now: Date },
): Promise<number> {
  return reader.accessTokens.countLiveMadeBy(org, formatUser(username), now.toISOString())
}

/** Revokes the tokens of the organization that the user made, with all that were made from them. */
export async function revokeMadeTokens(
  writer: StoreWriter,
  org: string,
  { username, now }: { readonly username: string; readonly now: Date },
): Promise<void> {
  await writer.accessTokens.revokeMadeBy(org, formatUser(username), now.toISOString())
}

function exceeds({ permissions }: AccessTokenRecord, role: Role | undefined): boolean {
  return missingPermissions(permissions, role === undefined ? [] : permissionsOf(role)).length > 0
}
