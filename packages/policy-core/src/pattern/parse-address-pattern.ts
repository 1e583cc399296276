import {
  FAMILY_BITS,
  formatAddress,
  formatIpv6,
  parseAddress,
  parseIpv4,
  parseIpv6,
} from '../address/ip-address.ts'
import { firstAddress, hasHostBits, singleAddress, type IpRange } from '../address/ip-range.ts'
import { parseHost } from '../host/host.ts'
import { parsePort } from '../host/port.ts'
import { quote } from '../quote.ts'
import { parsed, refused, type Parsed } from '../result.ts'
import type { NetworkPattern } from './network-pattern.ts'

type RangePattern = Parsed<Extract<NetworkPattern, { kind: 'range' }>>

/** The IPv4-mapped block ::ffff:0:0/96: a range inside it is the IPv4 range. */
const MAPPED: IpRange = { family: 6, base: 0xffff_0000_0000n, prefix: 96 }

const ONE_ADDRESS = 'one such as `2001:db8::1`, or `[2001:db8::1]:443` with a port'

/** Decimal, without a leading zero. */
const PREFIX_LENGTH = /^(?:0|[1-9]\d{0,2})$/

/** Reads `2001:db8::1`, `[2001:db8::1]:443`, or a CIDR range of either family. */
export function parseAddressPattern(text: string): RangePattern {
  if (text.startsWith('[')) return parseBracketed(text)
  if (text.includes('/')) return parseCidr(text)
  const address = parseAddress(text)
  return address === null
    ? refused(`${quote(text)} is not an IPv6 address; write ${spellPort(text) ?? ONE_ADDRESS}`)
    : parsed({ kind: 'range', range: singleAddress(address), port: null })
}

/** The bracketed spelling of a text that is an IPv6 address and a port; null for others. */
function spellPort(text: string): string | null {
  const colon = text.lastIndexOf(':')
  const port = parsePort(text.slice(colon + 1))
  const isAddress = parseIpv6(text.slice(0, colon)) !== null
  return port === null || !isAddress ? null : quote(`[${text.slice(0, colon)}]:${port}`)
}

function parseBracketed(text: string): RangePattern {
  const close = text.indexOf(']')
  const inner = text.slice(1, close)
  const rest = text.slice(close + 1)
  if (close < 0 || !/^(?::|$)/.test(rest))
    return refused(
      `${quote(text)} has brackets without a port as in \`[2001:db8::1]:443\`; ` +
        `write the address or range without them`,
    )
  const address = inner.includes(':') ? parseAddress(inner) : null
  if (address === null)
    return refused(
      `${quote(text)} has brackets around something that is not an IPv6 address; ` +
        `write ${quote(inner.includes('/') ? inner : `${inner}${rest}`)}`,
    )
  if (rest.length <= 1)
    return refused(
      `${quote(text)} has brackets but no port; ` +
        `write ${spellPort(inner) ?? `${quote(inner)} or ${quote(`[${inner}]:443`)}`}`,
    )
  const port = parsePort(rest.slice(1))
  return port === null
    ? refused(
        `${quote(text)} has no valid port; write a number from 1 to 65535 without leading zeros`,
      )
    : parsed({ kind: 'range', range: singleAddress(address), port })
}

function parseCidr(text: string): RangePattern {
  const slash = text.indexOf('/')
  const addressText = text.slice(0, slash)
  const prefixText = text.slice(slash + 1)
  const family = addressText.includes(':') ? 6 : 4
  const base = family === 6 ? parseIpv6(addressText) : (parseIpv4(addressText)?.value ?? null)
  if (base === null) return refused(describeNotCidr(text, addressText))
  const prefix = Number(prefixText)
  if (PREFIX_LENGTH.test(prefixText) && prefix <= FAMILY_BITS[family])
    return parseRange(text, { family, base, prefix })
  return refused(describePrefix(text, { family, base }))
}

/** `base` is the address before the slash. */
function describePrefix(text: string, { family, base }: Pick<IpRange, 'family' | 'base'>): string {
  const slash = text.indexOf('/')
  const prefixText = text.slice(slash + 1)
  if (/^\d+:/.test(prefixText))
    return (
      `${quote(text)} has a port after a CIDR range, which covers every port; ` +
      `write ${quote(text.slice(0, text.lastIndexOf(':')))}`
    )
  const mask = family === 4 ? prefixOfMask(prefixText) : null
  if (mask !== null) {
    const value = firstAddress({ family: 4, base, prefix: mask })
    const range = `${formatAddress({ family: 4, value })}/${mask}`
    return `${quote(text)} has a netmask instead of a prefix length; write ${quote(range)}`
  }
  const bits = FAMILY_BITS[family]
  return (
    `${quote(text)} has no valid prefix length; write a number from 0 to ${bits} ` +
    `without leading zeros, such as ${quote(`${text.slice(0, slash)}/${bits}`)}`
  )
}

/** The prefix length of a netmask such as `255.0.0.0`; null for other texts. */
function prefixOfMask(text: string): number | null {
  const address = parseIpv4(text)
  const bits = address?.value.toString(2).padStart(32, '0')
  return bits !== undefined && /^1*0*$/.test(bits) ? bits.lastIndexOf('1') + 1 : null
}

function parseRange(text: string, written: IpRange): RangePattern {
  if (hasHostBits(written)) {
    return refused(
      `${quote(text)} has host bits set; did you mean ${quote(withoutHostBits(written))}?`,
    )
  }
  const isMapped =
    written.family === 6 &&
    written.prefix >= MAPPED.prefix &&
    written.base >> 32n === MAPPED.base >> 32n
  const range: IpRange = isMapped
    ? { family: 4, base: written.base & 0xffff_ffffn, prefix: written.prefix - MAPPED.prefix }
    : written
  return parsed({ kind: 'range', range, port: null })
}

/** A short prefix of an IPv4-mapped address is read as the prefix of the IPv4 address. */
function withoutHostBits({ family, base, prefix }: IpRange): string {
  const isMapped = family === 6 && base >> 32n === MAPPED.base >> 32n && prefix <= FAMILY_BITS[4]
  if (family === 6 && !isMapped)
    return `${formatIpv6(firstAddress({ family, base, prefix }))}/${prefix}`
  const value = firstAddress({ family: 4, base: base & 0xffff_ffffn, prefix })
  return `${formatAddress({ family: 4, value })}/${prefix}`
}

function describeNotCidr(text: string, addressText: string): string {
  const portAt = addressText.lastIndexOf(':')
  if (portAt > 0 && parseIpv4(addressText.slice(0, portAt)) !== null)
    return (
      `${quote(text)} has a port before a prefix, but a CIDR range covers every port; ` +
      `write ${quote(addressText.slice(0, portAt) + text.slice(addressText.length))}`
    )
  if (/^\.{1,2}$/.test(addressText))
    return `${quote(text)} is a path; a network rule names hosts, such as \`example.com\``
  return parseHost(addressText)?.kind === 'address'
    ? `${quote(text)} is not a CIDR range in dotted decimal or IPv6; ` +
        `write one such as \`10.0.0.0/8\``
    : `${quote(text)} has a path; write the host alone, such as ${quote(addressText)}`
}
