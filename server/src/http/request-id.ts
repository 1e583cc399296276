import type { IncomingMessage } from 'node:http'

/** Characters that are harmless in a log line, a header and a page. */
const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/
const RANDOM_BYTES = 12

/** Makes the id of a request: that of `X-Request-Id` when harmless, else a random one. */
export function createRequestIds(
  random: (bytes: number) => Uint8Array,
): (request?: IncomingMessage) => string {
  return (request) => {
    const sent = request?.headers['x-request-id']
    if (typeof sent === 'string' && HARMLESS.test(sent)) return sent
    return `req_${Buffer.from(random(RANDOM_BYTES)).toString('hex')}`
  }
}
