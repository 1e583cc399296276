import {
  formatAddress,
  parseIpv4,
  type AddressScratch,
  type IpAddress,
} from '../address/ip-address.ts'
import { singleAddress } from '../address/ip-range.ts'
import { formatHostPort, parseHost } from '../host/host.ts'
import { parsePort } from '../host/port.ts'
import { quote } from '../quote.ts'
import { parsed, refused, type Parsed } from '../result.ts'
import { parseAddressPattern } from './parse-address-pattern.ts'
import { findForeignSyntax } from './foreign-syntax.ts'
import type { Depth, NetworkPattern } from './network-pattern.ts'

/**
 * Reads a network resource of a rule. The message of a refusal says what to write instead. Whoever reads
 * many of them gives what it takes.
 */
export function parseNetworkPattern(
  text: string,
  scratch?: AddressScratch,
): Parsed<NetworkPattern> {
  const foreign = findForeignSyntax(text)
  if (foreign !== null) return refused(foreign)
  const colon = text.indexOf(':')
  if (text.includes('/') || text.startsWith('[') || text.lastIndexOf(':') > colon)
    return parseAddressPattern(text, scratch)
  if (colon < 0) return parseHostPattern(text, text, null)
  const port = parsePort(text.slice(colon + 1))
  if (port === null) return refused(describePort(text, text.slice(0, colon), text.slice(colon + 1)))
  return parseHostPattern(text, text.slice(0, colon), port)
}

function describePort(text: string, host: string, port: string): string {
  if (port === '') return `${quote(text)} has an empty port; write ${quote(host)} for every port`
  return `${quote(text)} has no valid port; write a number from 1 to 65535 without leading zeros`
}

function parseHostPattern(
  text: string,
  hostText: string,
  port: number | null,
): Parsed<NetworkPattern> {
  const depth = depthOf(hostText)
  const domainText = hostText.slice(WILDCARD_LENGTH[depth])
  if (domainText.includes('*')) return refused(describeWildcard(text, hostText))
  const host = parseHost(domainText)
  if (host === null) return refused(describeHost(text, domainText))
  if (host.kind === 'address') {
    if (depth !== 'exact')
      return refused(
        `${quote(text)} puts a wildcard before an address; write a CIDR range such as \`10.0.0.0/8\``,
      )
    return parseIpv4(hostText) === null
      ? refused(describeSpelling(text, host.address, port))
      : parsed({ kind: 'range', range: singleAddress(host.address), port })
  }
  return parsed({ kind: 'name', domain: host.name, depth, port })
}

/** Characters before the domain: those of `*.` and `**.`. */
const WILDCARD_LENGTH: Readonly<Record<Depth, number>> = { exact: 0, one: 2, any: 3 }

function depthOf(hostText: string): Depth {
  if (hostText.startsWith('*.') && hostText.length > WILDCARD_LENGTH.one) return 'one'
  return hostText.startsWith('**.') && hostText.length > WILDCARD_LENGTH.any ? 'any' : 'exact'
}

/** In a rule another spelling than dotted decimal is surely a mistake. */
function describeSpelling(text: string, address: IpAddress, port: number | null): string {
  const meant = formatAddress(address)
  return `${quote(text)} spells an IPv4 address in another way than dotted decimal; write ${quote(formatHostPort(meant, port))}`
}

function describeWildcard(text: string, hostText: string): string {
  if (/^\*\*?\.?$/.test(hostText))
    return `${quote(text)} stands for every host; write \`0.0.0.0/0\` and \`::/0\` for every address, or name a domain such as \`**.example.com\``
  return `${quote(text)} has a wildcard that is not the whole leftmost label; write \`*.example.com\` for one label or \`**.example.com\` for any depth`
}

function describeHost(text: string, domainText: string): string {
  if (domainText === '') return `${quote(text)} names no host; write one such as \`example.com\``
  if (domainText.includes('..') || domainText.startsWith('.'))
    return `${quote(text)} has an empty label; write a name such as \`example.com\``
  if (/^(?:[0-9]+|0x[0-9a-f]*)\.?$/i.test(domainText.slice(domainText.lastIndexOf('.') + 1)))
    return `${quote(text)} ends in a number but is not an IPv4 address; write four numbers from 0 to 255 such as \`192.0.2.7\``
  if (/(?:^|\.)xn--/i.test(domainText))
    return `${quote(text)} is not a valid host name: an \`xn--\` label must encode a name; write the name in its own letters`
  return `${quote(text)} is not a valid host name; write letters, digits, \`-\` and \`_\` in labels of 1 to 63 characters, 253 in all`
}
