import { formatAddress, parseAddress } from '../address/ip-address.ts'
import { parseHost } from './host.ts'

/** A host as a request, a resolver or a log should carry it. */
export type CanonicalHost =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'address'; readonly address: string }

/**
 * The canonical form of a host without brackets, or null when it is neither a name nor an
 * address. `decide` does this itself. An enforcement point needs it to resolve and dial exactly the
 * host of the decision.
 */
export function canonicalHost(text: string): CanonicalHost | null {
  const host = parseHost(text)
  if (host === null || host.kind === 'name') return host
  return { kind: 'address', address: formatAddress(host.address) }
}

/** The canonical form of an IP address (dotted decimal, or any spelling of IPv6), or null. */
export function canonicalAddress(text: string): string | null {
  const address = parseAddress(text)
  return address === null ? null : formatAddress(address)
}
