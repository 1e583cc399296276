import { ORGANIZATION_TOKEN_PREFIX, parseJson, PERSONAL_TOKEN_PREFIX } from '@palisade/protocol'

/** The account of a run; `token` may be a password from the environment. */
export interface Account {
  /** Canonical base URL of the server. */
  readonly server: string
  readonly org: string
  /** The user's name; the organization's for an organization token. */
  readonly username: string
  /** Personal or organization token, or a password. */
  readonly token: string
}

/** Credentials that `palisade login` stores. */
export interface StoredCredentials extends Account {
  /** Id of the token that `palisade login` created for this machine; `logout` revokes it. */
  readonly token_id?: string
  /** RFC 3339; present together with `token_id`. */
  readonly expires_at?: string
}

const MEMBERS = ['server', 'org', 'username', 'token'] as const

/**
 * Parses the text of a credentials file; null if it is invalid, such as a password for a token.
 */
export function parseCredentials(text: string): StoredCredentials | null {
  const json = parseJson(text)
  if (!json.ok || typeof json.value !== 'object' || json.value === null) return null
  const value = json.value
  const textOf = (name: string): unknown => Reflect.get(value, name)
  const [server, org, username, token] = MEMBERS.map(textOf)
  if (!isText(server) || !isText(org) || !isText(username) || !isText(token)) return null
  if (!isToken(token)) return null
  const [token_id, expires_at] = [textOf('token_id'), textOf('expires_at')]
  return {
    server,
    org,
    username,
    token,
    ...(isText(token_id) && isText(expires_at) ? { token_id, expires_at } : {}),
  }
}

/** Recognizes a token by its prefix; every other secret is a password, which is never stored. */
export function isToken(secret: string): boolean {
  return secret.startsWith(PERSONAL_TOKEN_PREFIX) || isOrganizationToken(secret)
}

/** Whether the secret signs in as the organization itself. */
export function isOrganizationToken(secret: string): boolean {
  return secret.startsWith(ORGANIZATION_TOKEN_PREFIX)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
