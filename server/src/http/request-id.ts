import type { IncomingMessage } from 'node:http'
import { concealSecrets } from '../operations/log/conceal-secrets.ts'

/** Characters that are harmless in a log line, a header and a page. */
const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/
const DIGITS = 24

/**
 * Makes the id of a request: that of `X-Request-Id` when harmless, else the last digits of
 * `newId()`, a UUID. Node draws random bytes for many UUIDs at once.
 */
export function createRequestIds(newId: () => string): (request?: IncomingMessage) => string {
  return (request) => {
    const sent = request?.headers['x-request-id']
    if (typeof sent === 'string' && isHarmless(sent)) return sent
    return `req_${newId().replaceAll('-', '').slice(-DIGITS)}`
  }
}

/** A client that sends a token by mistake must not have it kept in the history. */
function isHarmless(text: string): boolean {
  return HARMLESS.test(text) && concealSecrets(text) === text
}
