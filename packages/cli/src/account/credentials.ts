import { parseJson } from '@palisade/protocol'

/** What `palisade login` keeps. */
export interface StoredCredentials {
  /** Base of the server, canonical. */
  readonly server: string
  readonly org: string
  /** The user's name; the organization's for an organization token. */
  readonly username: string
  /** Personal or organization token, or a password. */
  readonly token: string
}

const MEMBERS = ['server', 'org', 'username', 'token'] as const

/** Reads the text of a credentials file; null when it is not one. */
export function parseCredentials(text: string): StoredCredentials | null {
  const json = parseJson(text)
  if (!json.ok || typeof json.value !== 'object' || json.value === null) return null
  const value = json.value
  const [server, org, username, token] = MEMBERS.map((name): unknown => Reflect.get(value, name))
  return isText(server) && isText(org) && isText(username) && isText(token)
    ? { server, org, username, token }
    : null
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
