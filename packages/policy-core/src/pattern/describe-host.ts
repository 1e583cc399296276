import { formatAddress, parseIpv4, type IpAddress } from '../address/ip-address.ts'
import { formatHostPort, parseHost } from '../host/host.ts'
import { parsePort } from '../host/port.ts'
import { quote } from '../quote.ts'

/** Says why the text after the colon is no port, with the correction. */
export function describePort(text: string, host: string, port: string): string {
  if (port === '') return `${quote(text)} has an empty port; write ${quote(host)} for every port`
  if (port === '*')
    return `${quote(text)} has a wildcard for a port; write ${quote(host)} for every port`
  const ports = port.split(',')
  if (ports.length > 1 && ports.every((each) => parsePort(each) !== null))
    return (
      `${quote(text)} has several ports; write one resource for each: ` +
      ports.map((each) => quote(`${host}:${each}`)).join(', ')
    )
  if (/^\d+-\d+$/.test(port))
    return (
      `${quote(text)} has a range of ports; ` +
      `write one resource for each, or ${quote(host)} for every port`
    )
  return `${quote(text)} has no valid port; write a number from 1 to 65535 without leading zeros`
}

/** The message for an IPv4 spelling other than dotted decimal, which is a mistake in a rule. */
export function describeSpelling(text: string, address: IpAddress, port: number | null): string {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535)
    return (
      `${quote(text)} is a number; ` +
      `a port follows a host, such as ${quote(`example.com:${text}`)}`
    )
  const meant = formatAddress(address)
  return (
    `${quote(text)} is an IPv4 address but not in dotted decimal; ` +
    `write ${quote(formatHostPort(meant, port))}`
  )
}

/** Says why `*` is invalid at its position in the host. */
export function describeWildcard(text: string, hostText: string): string {
  if (/^\*\*?\.?$/.test(hostText))
    return (
      `${quote(text)} matches every host; write \`0.0.0.0/0\` and \`::/0\` ` +
      `for every address and port, or name a domain such as \`**.example.com\``
    )
  const range = rangeOfOctets(hostText)
  if (range !== null)
    return (
      `${quote(text)} has a wildcard inside an address; ` +
      `write the range ${quote(range)}, which covers every port`
    )
  const port = text.slice(hostText.length)
  const own = /^\*+(\w[\w-]*\.[\w-]+)$/.exec(hostText)?.[1] ?? ''
  if (isOwnDomain(own))
    return (
      `${quote(text)} has a wildcard that is not a whole label; write both ` +
      `${quote(`**.${own}${port}`)} for every name below, and ${quote(`${own}${port}`)}`
    )
  const domain = hostText.replace(/^.*\*[^.]*\.?/s, '')
  const base = isOwnDomain(domain) ? `${domain}${port}` : 'example.com'
  return (
    `${quote(text)} has a wildcard that is not the whole leftmost label; ` +
    `write ${quote(`*.${base}`)} for one label or ${quote(`**.${base}`)} for any depth`
  )
}

/** Whether a wildcard below the domain can be meant: not below `com` or `co.uk`. */
function isOwnDomain(domain: string): boolean {
  return (
    domain.includes('.') && !/^\w{1,3}\.\w\w$/.test(domain) && parseHost(domain)?.kind === 'name'
  )
}

/** Says why the text without its wildcard is no host. */
export function describeHost(text: string, domainText: string): string {
  if (domainText === '') return `${quote(text)} names no host; write one such as \`example.com\``
  if (/^\.[^.]/.test(text) && parseHost(domainText.slice(1))?.kind === 'name')
    return (
      `${quote(text)} has an empty label; write both ${quote(`**${text}`)} for every name below, ` +
      `and ${quote(text.slice(1))} for the domain itself`
    )
  if (domainText.includes('..') || domainText.startsWith('.'))
    return `${quote(text)} has an empty label; write ${quote(withoutEmptyLabels(text, domainText))}`
  const notation = describeNotation(text, domainText)
  if (notation !== null) return `${quote(text)} ${notation}`
  if (/^[\d.]+-[\d.]+$/.test(domainText))
    return `${quote(text)} is not a CIDR range; write one such as \`10.0.0.0/28\``
  if (/^(?:[0-9]+|0x[0-9a-f]*)\.?$/i.test(domainText.slice(domainText.lastIndexOf('.') + 1)))
    return (
      `${quote(text)} ends in a number but is not an IPv4 address; ` +
      `write four numbers from 0 to 255 such as \`192.0.2.7\``
    )
  if (/(?:^|\.)xn--/i.test(domainText) && /[^\0-\x7f]/.test(domainText))
    return (
      `${quote(text)} is not a valid host name: beside letters outside ASCII ` +
      `an \`xn--\` label must encode a name; write the whole name without \`xn--\``
    )
  return (
    `${quote(text)} is not a valid host name; ` +
    `write letters, digits, \`-\` and \`_\` in labels of 1 to 63 characters, 253 in all`
  )
}

/** Recognizes hosts inside quotation marks or a list; null for other texts. */
function describeNotation(text: string, domainText: string): string | null {
  const bare = domainText.replace(/["'`]/g, '')
  if (bare !== domainText && parseHost(bare) !== null)
    return `has quotation marks; write ${quote(text.replace(/["'`]/g, ''))}`
  const listed = text.split(/[,;|]/)
  return listed.length > 1 && listed.every((each) => parseHost(each) !== null)
    ? `is a list; write one resource for each: ${listed.map(quote).join(', ')}`
    : null
}

function withoutEmptyLabels(text: string, domainText: string): string {
  const plain = domainText.split('.').filter(Boolean).join('.')
  return parseHost(plain)?.kind === 'name' ? text.replace(domainText, () => plain) : 'example.com'
}

/** The range for `10.0.0.*`, `10.0.*.*` or `10.*`; null for other texts. */
function rangeOfOctets(hostText: string): string | null {
  const octets = /^((?:\d{1,3}\.){1,3})(?:\*\.){0,2}\*$/
    .exec(hostText)?.[1]
    ?.slice(0, -1)
    .split('.')
  if (octets === undefined || hostText.split('.').length > 4) return null
  const first = [...octets, '0', '0', '0'].slice(0, 4).join('.')
  return parseIpv4(first) === null ? null : `${first}/${8 * octets.length}`
}
