import { isIP } from 'node:net'
import { invalidArgument } from '../platform/api-error.ts'
import type { ReachableAddresses } from './reachable-addresses.ts'

/**
 * The URL in its canonical form, or 400. A name is checked again when it is resolved for a
 * delivery; this check refuses only targets that can never be delivered to.
 */
export function requireWebhookUrl(text: string, reachable: ReachableAddresses): string {
  const url = parseUrl(text)
  if (url.username !== '' || url.password !== '')
    throw refusal('`url` must not contain a password; deliveries are signed')
  if (url.hash !== '') throw refusal('`url` must not have a fragment')
  const address = addressOf(url)
  if (address !== null && !reachable.includes(address))
    throw refusal(
      `\`url\` must not point to \`${address}\`, an address that is not public; ` +
        'the server allows it with `PALISADE_WEBHOOK_NETWORKS`',
    )
  if (url.protocol === 'http:' && !mayBePlain(url, address, reachable))
    throw refusal('`url` must begin with `https://`')
  return url.href
}

/** The address that stands in the URL instead of a name; WHATWG has made `0x7f.1` one already. */
export function addressOf({ hostname }: URL): string | null {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 ? null : host
}

function mayBePlain(url: URL, address: string | null, reachable: ReachableAddresses): boolean {
  const candidate = address ?? (url.hostname === 'localhost' ? '127.0.0.1' : null)
  return candidate !== null && reachable.isOpenLoopback(candidate)
}

function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw refusal('`url` must be a URL such as `https://example.com/hook`')
  return url
}

function refusal(message: string) {
  return invalidArgument(message, { field: 'url' })
}
