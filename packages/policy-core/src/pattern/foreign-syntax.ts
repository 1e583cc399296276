import { parseIpv4 } from '../address/ip-address.ts'
import { parseHost } from '../host/host.ts'
import { quote } from '../quote.ts'

/** Texts with only the characters of network resources, and without a path. */
const ONLY_NETWORK_CHARACTERS = /^[\w.*:[\]-][\w.*:[\]/-]*$/

/**
 * Recognizes other notations (a URL, a user part, an encoded or padded text) and returns the
 * correction; null for other texts.
 */
export function findForeignSyntax(text: string): string | null {
  // Nearly every resource passes here without a search for each mistake. bench: decide/compile
  return ONLY_NETWORK_CHARACTERS.test(text) && !text.includes('://')
    ? null
    : nameForeignSyntax(text)
}

function nameForeignSyntax(text: string): string | null {
  if (text === '') return 'the resource is empty; write a host name, an address or a CIDR range'
  if (!text.isWellFormed()) return `${quote(text)} contains an unpaired surrogate`
  if (/[\p{Cc}\p{White_Space}]/u.test(text))
    return (
      `${quote(text)} contains white space or a control character; ` +
      `write the bare host name or address`
    )
  const bare = bareHost(text)
  if (text.includes('://'))
    return `${quote(text)} is a URL; write the host alone, such as ${quote(bare)}`
  if (text.includes('@')) return describeUser(text, bare)
  if (text.includes('%') && text.includes(':'))
    return `${quote(text)} has a zone id; write the address up to the \`%\``
  if (text.startsWith('/') || text.startsWith('~'))
    return `${quote(text)} is a path; a network rule names hosts, such as \`example.com\``
  if (text.includes('%'))
    return (
      `${quote(text)} contains \`%\`, which is invalid in a host name; ` +
      `write the name without percent-encoding`
    )
  const odd = /[\\#?]/.exec(text)
  if (odd !== null)
    return (
      `${quote(text)} contains ${quote(odd[0])}, which is invalid in a host name; ` +
      `write the host alone, such as ${quote(bare)}`
    )
  return null
}

function describeUser(text: string, bare: string): string {
  const remote = /^[\w.-]+@(?<host>[\w.-]+):(?!\d+$)/.exec(text)?.groups?.['host']
  return remote !== undefined && isHostOfRule(remote)
    ? `${quote(text)} is a Git remote; write its host and port, such as ${quote(`${remote}:22`)}`
    : `${quote(text)} has a user part; write the host alone, such as ${quote(bare)}`
}

/** The host and port of a URL-like text, or an example if it has no host. */
function bareHost(text: string): string {
  const authority = text.replace(/^[^/]*:\/\//, '').replace(/[/\\?#%].*$/su, '')
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const name = host.replace(/^\*\*?\./, '').replace(/:\d+$/, '')
  return isHostOfRule(name) ? host : 'example.com'
}

/** Whether a rule accepts the text as host, which excludes other spellings of an address. */
function isHostOfRule(text: string): boolean {
  const host = parseHost(text)
  return host !== null && (host.kind === 'name' || parseIpv4(text) !== null || text.includes(':'))
}
