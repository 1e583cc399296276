import type { Permission } from '@palisade/protocol'
import type { Author } from '../history/author.ts'

/** Who calls, proven by an access token. What he may do in an organization says `authorize`. */
export type Principal = UserPrincipal | OrganizationPrincipal

export interface UserPrincipal {
  readonly kind: 'user'
  readonly username: string
  /** The personal token that the session came from; null for a password. */
  readonly tokenId: string | null
  /** Whether an external issuer vouches for him; then `tokenId` is null as well. */
  readonly external?: true
  /** What the credential was made for: an upper bound on the permissions of the user's role. */
  readonly permissions: readonly Permission[]
}

/** An organization access token: it acts in its own organization and nowhere else. */
export interface OrganizationPrincipal {
  readonly kind: 'organization'
  readonly org: string
  readonly tokenId: string
  readonly permissions: readonly Permission[]
}

/** A principal within one request. */
export type Caller = Principal & { readonly author: Author }

/** A user as an actor, whichever way he signed in. */
export function formatUser(username: string): string {
  return `user:${username}`
}

/** A token of an organization as an actor. */
export function formatOrganization(org: string, tokenId: string): string {
  return `organization:${org}:${tokenId}`
}

/** One string that names the caller, the same for every access token of one user. */
export function formatPrincipal(principal: Principal): string {
  return principal.kind === 'user'
    ? formatUser(principal.username)
    : formatOrganization(principal.org, principal.tokenId)
}
