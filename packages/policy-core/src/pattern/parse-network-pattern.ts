import { parseIpv4 } from '../address/ip-address.ts'
import { singleAddress } from '../address/ip-range.ts'
import { parseHost } from '../host/host.ts'
import { parsePort } from '../host/port.ts'
import { quote } from '../quote.ts'
import { parsed, refused, type Parsed } from '../result.ts'
import { describeHost, describePort, describeSpelling, describeWildcard } from './describe-host.ts'
import { parseAddressPattern } from './parse-address-pattern.ts'
import { findForeignSyntax } from './foreign-syntax.ts'
import type { Depth, NetworkPattern } from './network-pattern.ts'

/** Reads a network resource of a rule. The message of a refusal names the correction. */
export function parseNetworkPattern(text: string): Parsed<NetworkPattern> {
  const foreign = findForeignSyntax(text)
  if (foreign !== null) return refused(foreign)
  const colon = text.indexOf(':')
  if (text.includes('/') || text.startsWith('[') || text.lastIndexOf(':') > colon)
    return parseAddressPattern(text)
  if (colon < 0) return parseHostPattern(text, text, null)
  const port = parsePort(text.slice(colon + 1))
  const host = parseHostPattern(text, text.slice(0, colon), port)
  if (port === null && /^\d+$/.test(text.slice(0, colon)))
    return refused(`${quote(text)} names no host; write one such as \`example.com:443\``)
  if (port !== null || !host.ok) return host
  return refused(describePort(text, text.slice(0, colon), text.slice(colon + 1)))
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
        `${quote(text)} has a wildcard before an address; ` +
          `write a CIDR range such as \`10.0.0.0/8\``,
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
