import type {
  AccessTokenRecord,
  OrganizationTokenRecord,
  PersonalTokenRecord,
} from '../../records.ts'

/**
 * The first `limit` tokens that were made later than `after` and expire later than `expiresAfter`.
 */
export interface TokenPage {
  /** The id of a token, revoked or not; empty for the first page. */
  readonly after: string
  readonly limit: number
  /** `Date.toISOString` */
  readonly expiresAfter: string
}

/**
 * A token is invalid from the moment of its revocation on, and so are all tokens made from it.
 * Lists and counts leave out the first hundred at once, and the rest after `revokePending` has
 * marked them.
 */
export interface AccessTokenReader {
  /** Whether `revokePending` has something to note, here or for enrolment tokens. */
  hasPending(): Promise<boolean>
  find(id: string): Promise<AccessTokenRecord | null>
  findBySecretHash(secretHash: string): Promise<AccessTokenRecord | null>
  /** The id of the first token in the line of `parent_id`; `id` itself when it has no parent. */
  rootOf(id: string): Promise<string>
  /** Not revoked, by creation; expired ones too. */
  listOfUser(username: string): Promise<PersonalTokenRecord[]>
  listOfOrganization(org: string): Promise<OrganizationTokenRecord[]>
  /** Not revoked, by creation. */
  pageOfUser(username: string, page: TokenPage): Promise<PersonalTokenRecord[]>
  pageOfOrganization(org: string, page: TokenPage): Promise<OrganizationTokenRecord[]>
  /** Neither revoked nor over at `at` (`Date.toISOString`). */
  countLiveOfUser(username: string, at: string): Promise<number>
  countLiveOfOrganization(org: string, at: string): Promise<number>
  /** Counts live tokens of the organization that `actor` made. */
  countLiveMadeBy(org: string, actor: string, at: string): Promise<number>
  /** Not revoked, of every organization, by creation; `actor` as in `created_by`. */
  listMadeBy(actor: string): Promise<OrganizationTokenRecord[]>
}

export interface AccessTokenWriter extends AccessTokenReader {
  /** Notes a use; an earlier use than the known one changes no row. Raises no revision. */
  touch(id: string, usedAt: string): Promise<void>
  insert(token: AccessTokenRecord): Promise<void>
  /**
   * Revokes the token and every descendant by `parent_id`; tokens revoked before keep their time.
   * Returns the token and the first hundred that this call revokes, by creation.
   */
  revoke(id: string, revokedAt: string): Promise<AccessTokenRecord[]>
  /** Revokes all tokens of the organization whose `created_by` is `actor`, as `revoke` does. */
  revokeMadeBy(org: string, actor: string, revokedAt: string): Promise<AccessTokenRecord[]>
  /** Revokes all personal tokens of the user, as `revoke` does. */
  revokeOfUser(username: string, revokedAt: string): Promise<AccessTokenRecord[]>
  /** Marks a hundred more of those that are revoked already; null without pending ones. */
  revokePending(): Promise<AccessTokenRecord[] | null>
}
