import { canonicalHost, type CanonicalHost } from '@palisade/policy-core'

/** The requested destination in canonical form, which is matched, resolved, dialled and logged. */
export interface Target {
  /** A-label name, or an address without brackets. */
  readonly host: string
  readonly port: number
}

/** `[address]`, or visible ASCII without delimiters; then an optional port without padding. */
const AUTHORITY = /^(?:\[([0-9A-Fa-f:.]+)\]|((?:(?![[\]:@/\\?#%])[!-~])+))(?::([1-9]\d{0,4}))?$/

const EMPTY_A_LABEL = /(?:^|\.)xn--(?:\.|$)/

/**
 * Parses `host[:port]` from a request line or a `Host` header. Returns null for any form that two
 * readers could interpret differently: user part, percent sign, empty or padded port, IPv6 without
 * brackets, a bracketed name. With `defaultPort` null the port is mandatory.
 */
export function parseAuthority(text: string, defaultPort: number | null): Target | null {
  const parts = AUTHORITY.exec(text)
  if (parts === null) return null
  const [, bracketed, bare, digits] = parts
  const port = digits === undefined ? defaultPort : Number(digits)
  if (port === null || port > 65_535) return null
  const host = bracketed === undefined ? parseTargetHost(bare ?? '') : canonicalIpv6(bracketed)
  if (host === null) return null
  return { host: host.kind === 'name' ? host.name : host.address, port }
}

/**
 * Reads a host as `canonicalHost` does, but not a name with an empty A-label: no name is
 * encoded in it, and resolvers differ in the name that they ask for.
 */
export function parseTargetHost(text: string): CanonicalHost | null {
  const host = canonicalHost(text)
  return host?.kind === 'name' && EMPTY_A_LABEL.test(host.name) ? null : host
}

/** `[192.0.2.1]` is not an IP-literal (RFC 3986 §3.2.2). */
function canonicalIpv6(text: string): CanonicalHost | null {
  const host = text.includes(':') ? canonicalHost(text) : null
  return host?.kind === 'address' ? host : null
}

/** Formats `host:port` for a `Host` header, without the default port. */
export function formatAuthority(target: Target, defaultPort: number | null): string {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host
  return target.port === defaultPort ? host : `${host}:${target.port}`
}

export function isSameTarget(a: Target, b: Target): boolean {
  return a.host === b.host && a.port === b.port
}
