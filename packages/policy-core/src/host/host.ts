import { parseAddress, parseIpv4, type IpAddress } from '../address/ip-address.ts'

/** The host parser of the WHATWG URL standard, which every runtime has: it does UTS 46 for us. */
declare const URL: new (text: string) => { readonly hostname: string }

/** A host in canonical form. */
export type Host =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'address'; readonly address: IpAddress }

/** Characters of a canonical name, and of one of its labels (RFC 1035 §2.3.4). */
export const MAX_NAME_LENGTH = 253
export const MAX_LABEL_LENGTH = 63

const LDH_NAME = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/
/** Matches a name in any letter case, optionally with the trailing dot of the root. */
const WRITTEN_LDH_NAME = /^[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?$/

/**
 * Characters that the URL parser would strip, decode, or take for the end of the host. Chromium
 * decodes the full-width and the small percent sign, where Node refuses them.
 */
const NOT_IN_A_HOST = /[\p{Cc}\p{White_Space}#%/:<>?@[\\\]^|\uFE6A\uFF05]/u

/** Longest text to parse. Longer texts are hardly valid names, and IDNA takes superlinear time. */
const MAX_TEXT_LENGTH = 1024

/**
 * Reads a host without brackets: a name (lower-case A-labels, UTS 46 non-transitional as in the
 * WHATWG URL standard, one trailing dot removed) or an address in any spelling, where IPv4 may
 * also be `127.1`, `0x7f.1` or `2130706433`. Null when it is neither.
 *
 * A name in ASCII is taken as it is, its A-labels valid or not (WHATWG URL, domain to ASCII).
 */
export function parseHost(text: string): Host | null {
  if (text.length > MAX_TEXT_LENGTH) return null
  const plain = plainName(text)
  if (plain !== null) return nameHost(plain)
  if (text.includes(':')) return addressHost(parseAddress(text))
  // Composed first, as UTS 46 does: `<` followed by U+0338 is one character of a name.
  const composed = text.normalize('NFC')
  if (NOT_IN_A_HOST.test(composed)) return null
  const ascii = whatwgHost(composed)
  if (ascii === null) return null
  const ipv4 = parseIpv4(ascii)
  if (ipv4 !== null) return addressHost(ipv4)
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii
  return LDH_NAME.test(name) ? nameHost(name) : null
}

/** Tells whether the name means the machine itself and is never resolved (RFC 6761 §6.3). */
export function isLocalhostName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

/**
 * The host and port as they stand in a rule: an IPv6 address in brackets. Without a port, which
 * means every port, the host alone.
 */
export function formatHostPort(host: string, port: number | null): string {
  if (port === null) return host
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function nameHost(name: string): Host | null {
  return name.length <= MAX_NAME_LENGTH ? { kind: 'name', name } : null
}

function addressHost(address: IpAddress | null): Host | null {
  return address === null ? null : { kind: 'address', address }
}

/**
 * The name in canonical form, if lower case and removal of a trailing dot suffice and the last
 * label is no number. Null for other texts.
 */
function plainName(text: string): string | null {
  // A canonical text is returned as it is, because a copy costs memory. bench: decide/compile
  const isCanonical = LDH_NAME.test(text)
  if (!isCanonical && !WRITTEN_LDH_NAME.test(text)) return null
  const name = isCanonical ? text : (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase()
  return isDigit(name.charCodeAt(name.lastIndexOf('.') + 1)) ? null : name
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** The host as the WHATWG URL standard reads it. */
function whatwgHost(text: string): string | null {
  try {
    return new URL(`http://${text}/`).hostname
  } catch {
    return null
  }
}
