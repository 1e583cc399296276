import { formatAddress, readAddress, type Address } from './address.ts'

export type Host =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'address'; readonly address: Address }

const NEVER_IN_A_HOST = /[\p{Cc}\p{White_Space}%％﹪@/\\#?:[\]]/u
const NAME = /^(?=.{1,253}$)[a-z\d_-]{1,63}(?:\.[a-z\d_-]{1,63})*$/

/**
 * Reads a request's host: a name, an IPv4 address in any spelling, or IPv6 without brackets.
 * Returns null otherwise.
 */
export function readHost(text: unknown): Host | null {
  if (typeof text !== 'string' || !text.isWellFormed() || text.length > 1024) return null
  const address = readAddress(text)
  if (address !== null) return { kind: 'address', address }
  if (NEVER_IN_A_HOST.test(text.normalize('NFC')) || !URL.canParse(`http://${text}/`)) return null

  // The URL parser applies UTS 46 and parses the spellings of IPv4. The checks below cover the
  // rest.
  const hostname = new URL(`http://${text}/`).hostname.replace(/\.$/, '')
  const numeric = readAddress(hostname)
  if (numeric !== null) return { kind: 'address', address: numeric }
  return NAME.test(hostname) ? { kind: 'name', name: hostname } : null
}

export function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

export function formatHost(host: Host): string {
  return host.kind === 'name' ? host.name : formatAddress(host.address)
}
