import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { invalidArgument } from '../platform/api-error.ts'

/**
 * The proxies whose `X-Forwarded-For` is trusted: none, those at given addresses and ranges, or a
 * number of proxies in a row. The number cannot tell a proxy from a client that connects directly,
 * so it needs a port that only the proxies can reach.
 */
export type TrustedProxies =
  | { readonly kind: 'none' }
  | { readonly kind: 'ranges'; readonly ranges: readonly string[] }
  | { readonly kind: 'hops'; readonly hops: number }

/** Parses `off`, a number of hops from 1 to 9, or a comma-separated list. Null when malformed. */
export function parseTrustedProxies(text: string): TrustedProxies | null {
  if (text === 'off') return { kind: 'none' }
  if (/^[1-9]$/.test(text)) return { kind: 'hops', hops: Number(text) }
  const ranges = text.split(',').map((range) => range.trim())
  return ranges.every(isAddressRange) ? { kind: 'ranges', ranges } : null
}

/** Converts to Fastify's option `trustProxy`. */
export function trustProxyOption(
  trusted: TrustedProxies,
): false | string[] | ((address: string, hop: number) => boolean) {
  switch (trusted.kind) {
    case 'none':
      return false
    case 'ranges':
      return [...trusted.ranges]
    case 'hops':
      // Fastify takes a bare number for no trust at all.
      return (_address, hop) => hop < trusted.hops
  }
}

/**
 * Refuses a forwarded request whose client is not an address: throttling and history use
 * `request.ip`, which must not be a text of the client's choice.
 */
export function requireForwardedAddress(app: FastifyInstance, trusted: TrustedProxies): void {
  if (trusted.kind === 'none') return
  app.addHook('onRequest', async (request) => {
    if (isIP(request.ip) === 0)
      throw invalidArgument('the proxy must send only addresses in `X-Forwarded-For`')
  })
}

/** Tells whether `requireForwardedAddress` accepts the request, whichever proxy it came through. */
export function hasForwardedAddresses(
  { headers }: IncomingMessage,
  { kind }: TrustedProxies,
): boolean {
  const sent = headers['x-forwarded-for']
  if (kind === 'none' || sent === undefined) return true
  return [sent].flat().every((list) => list.split(',').every((part) => isIP(part.trim()) !== 0))
}

/** Tells whether a text is an address or a range other than the whole address space. */
export function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const version = isIP(address)
  // A zone names an interface of one machine; Fastify does not support it.
  if (version === 0 || address.includes('%') || rest.length > 0) return false
  if (prefix === undefined) return true
  const bits = version === 4 ? 32 : 128
  return /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits
}
