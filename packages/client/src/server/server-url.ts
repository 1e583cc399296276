import { ClientError } from '../client-error.ts'

/**
 * The canonical base of a server: scheme, host, port and optionally a path prefix, without a
 * trailing slash. Throws `ERR_SERVER_URL_INVALID`; the message never contains a password.
 */
export function parseServerUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw invalid('an http or https URL such as `http://127.0.0.1:8420`')
  if (url.username !== '' || url.password !== '') throw invalid('a URL without a user part')
  if (url.search !== '' || url.hash !== '') throw invalid('a URL without query and fragment')
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/**
 * A path of `parts`, each percent-encoded. Refuses empty and dot parts with
 * `ERR_ARGUMENT_INVALID`: URL normalization would turn `..` into another resource.
 */
export function apiPath(...parts: readonly string[]): string {
  return parts.map((part) => `/${encodePart(part)}`).join('')
}

/** `?name=value…` of the given members; empty without members. */
export function formatQuery(members: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(members))
    if (value !== undefined) query.set(name, value)
  return query.size === 0 ? '' : `?${query.toString()}`
}

function encodePart(part: string): string {
  if (part === '' || part === '.' || part === '..' || !part.isWellFormed())
    throw new ClientError('ERR_ARGUMENT_INVALID', `\`${part}\` cannot be a name or an id`)
  return encodeURIComponent(part)
}

function invalid(expected: string): ClientError {
  return new ClientError('ERR_SERVER_URL_INVALID', `the server must be ${expected}`)
}
