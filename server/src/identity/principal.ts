import type { Permission } from '@palisade/protocol'
import type { Author } from '../history/author.ts'

/** The caller, proven by an access token. `authorize` returns their rights in an organization. */
export type Principal = UserPrincipal | OrganizationPrincipal

export interface UserPrincipal {
  readonly kind: 'user'
  readonly username: string
  /** The personal token that opened the session; null for a password. */
  readonly tokenId: string | null
  /** The first token of the line that `tokenId` was made in: itself, unless another one made it. */
  readonly rootTokenId: string | null
  /** Set for a session of the external issuer; `tokenId` is then null. */
  readonly external?: true
  /** Permissions of the credential: an upper bound on those of the user's role. */
  readonly permissions: readonly Permission[]
}

/** An organization access token. It acts in its own organization only. */
export interface OrganizationPrincipal {
  readonly kind: 'organization'
  readonly org: string
  readonly tokenId: string
  /**
   * The first token of the line, as for a user; a personal token when its session made this token.
   */
  readonly rootTokenId: string
  readonly permissions: readonly Permission[]
}

/** A principal within one request. */
export type Caller = Principal & { readonly author: Author }

/** Formats a user as an actor, regardless of the credential. */
export function formatUser(username: string): string {
  return `user:${username}`
}

/** Formats an organization token as an actor. */
export function formatOrganization(org: string, tokenId: string): string {
  return `organization:${org}:${tokenId}`
}

/**
 * A string that identifies the secret behind the session, for limits: the same for all tokens that
 * descend from one. A thief of a token then uses up the limits of that token, not of its owner.
 */
export function formatCredential(principal: Principal): string {
  const { rootTokenId } = principal
  if (principal.kind === 'organization' || rootTokenId !== null) return `token:${rootTokenId}`
  return principal.external === true
    ? `issuer:${principal.username}`
    : formatUser(principal.username)
}

/** A string that identifies the caller; the same for all access tokens of a user. */
export function formatPrincipal(principal: Principal): string {
  return principal.kind === 'user'
    ? formatUser(principal.username)
    : formatOrganization(principal.org, principal.tokenId)
}
