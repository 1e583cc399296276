/** The first `limit` rows whose name (of a user, a team or an organization) comes after `after`. */
export interface NamePage {
  /** Empty for the first page. */
  readonly after: string
  readonly limit: number
}
