import type { IncomingMessage } from 'node:http'

/** Only characters that are harmless in a log line, a header and a page. */
const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/
const RANDOM_BYTES = 12

/** Returns a factory of request ids: a harmless `X-Request-Id`, or else a random id. */
export function createRequestIds(
  random: (bytes: number) => Uint8Array,
): (request?: IncomingMessage) => string {
  return (request) => {
    const sent = request?.headers['x-request-id']
    if (typeof sent === 'string' && HARMLESS.test(sent)) return sent
    return `req_${Buffer.from(random(RANDOM_BYTES)).toString('hex')}`
  }
}
