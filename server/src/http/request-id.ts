import type { IncomingMessage } from 'node:http'

/** Characters that are harmless in a log line, a header and a page. */
const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/
const RANDOM_BYTES = 12
/** Ids made of one draw (bench: server/requests, poll). */
const IDS_A_DRAW = 256

/** Makes the id of a request: that of `X-Request-Id` when harmless, else a random one. */
export function createRequestIds(
  random: (bytes: number) => Uint8Array,
): (request?: IncomingMessage) => string {
  let drawn = Buffer.alloc(0)
  let used = 0
  return (request) => {
    const sent = request?.headers['x-request-id']
    if (typeof sent === 'string' && HARMLESS.test(sent)) return sent
    if (used >= drawn.length) {
      drawn = Buffer.from(random(RANDOM_BYTES * IDS_A_DRAW))
      used = 0
    }
    const id = drawn.toString('hex', used, used + RANDOM_BYTES)
    used += RANDOM_BYTES
    return `req_${id}`
  }
}
