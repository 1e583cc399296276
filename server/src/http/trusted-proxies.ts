import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { invalidArgument } from '../platform/api-error.ts'

/**
 * Whose `X-Forwarded-For` is believed: nobody's, that of proxies at these addresses and ranges, or
 * that of so many proxies in a row. A count cannot tell a proxy from a client that connects
 * directly, so it is for a port that nothing but the proxies can reach.
 */
export type TrustedProxies =
  | { readonly kind: 'none' }
  | { readonly kind: 'ranges'; readonly ranges: readonly string[] }
  | { readonly kind: 'hops'; readonly hops: number }

/** Reads `off`, a number of hops from 1 to 9, or a list with commas; null for anything else. */
export function parseTrustedProxies(text: string): TrustedProxies | null {
  if (text === 'off') return { kind: 'none' }
  if (/^[1-9]$/.test(text)) return { kind: 'hops', hops: Number(text) }
  const ranges = text.split(',').map((range) => range.trim())
  return ranges.every(isAddressRange) ? { kind: 'ranges', ranges } : null
}

/** The framework's own setting of this name. */
export function trustProxyOption(
  trusted: TrustedProxies,
): false | string[] | ((address: string, hop: number) => boolean) {
  switch (trusted.kind) {
    case 'none':
      return false
    case 'ranges':
      return [...trusted.ranges]
    case 'hops':
      // The framework takes a bare number for no trust at all.
      return (_address, hop) => hop < trusted.hops
  }
}

/**
 * Refuses what a trusted proxy hands on when its last part is no address: throttling and history
 * go by `request.ip`, which must not be a text of the client's choice.
 */
export function requireForwardedAddress(app: FastifyInstance, trusted: TrustedProxies): void {
  if (trusted.kind === 'none') return
  app.addHook('onRequest', async (request) => {
    if (isIP(request.ip) === 0)
      throw invalidArgument('the proxy must send addresses and nothing else in `X-Forwarded-For`')
  })
}

/** Whether `requireForwardedAddress` lets the request pass whichever proxy it came through. */
export function isPlainlyForwarded(
  { headers }: IncomingMessage,
  { kind }: TrustedProxies,
): boolean {
  const sent = headers['x-forwarded-for']
  if (kind === 'none' || sent === undefined) return true
  return [sent].flat().every((list) => list.split(',').every((part) => isIP(part.trim()) !== 0))
}

/** An address, or a range that is not everybody. */
export function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const version = isIP(address)
  // A zone names an interface of one machine; the framework does not know it.
  if (version === 0 || address.includes('%') || rest.length > 0) return false
  if (prefix === undefined) return true
  const bits = version === 4 ? 32 : 128
  return /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits
}
