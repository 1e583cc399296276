import type { FetchAnswer } from '@palisade/client'

export const JSON_MEDIA_TYPE = 'application/json'
/** RFC 6585 §6, of portals alone. */
const NETWORK_AUTHENTICATION_REQUIRED = 511
const LESS_THAN = '<'.codePointAt(0)
const WHITE_SPACE: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n'))

type Head = Pick<FetchAnswer, 'status' | 'headers'>

/** Without parameters, in lower case; empty where the answer names none. */
export function mediaTypeOf({ headers }: Pick<Head, 'headers'>): string {
  return (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

/**
 * Whether something on the way has answered a request in place of the server, as captive portals and proxies that
 * want a password do. A server never sends a page, so a 401 with one says nothing of the machine.
 */
export function isForeign({ status, headers }: Head): boolean {
  if (status === NETWORK_AUTHENTICATION_REQUIRED) return true
  const mediaType = mediaTypeOf({ headers })
  return status === 401 && mediaType !== '' && mediaType !== JSON_MEDIA_TYPE
}

/** Whether a body begins as a page does, which JSON never does. */
export function isMarkup(body: Uint8Array): boolean {
  return body.find((byte) => !WHITE_SPACE.has(byte)) === LESS_THAN
}
