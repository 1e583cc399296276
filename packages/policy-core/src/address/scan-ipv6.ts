import {
  countDigits,
  countPlain,
  createHexDigits,
  readFour,
  valueOf,
  type HexDigits,
} from './hex-digits.ts'
import { scanIpv4 } from './scan-ipv4.ts'

/** What `scanIpv6` found, to be used again and again; after a refusal it means nothing. */
export interface Ipv6Scan {
  /** Eight groups of 16 bits. */
  readonly groups: Uint16Array
  /** The first group that `::` stands for, or -1 without `::`. */
  gapStart: number
  /** How many groups `::` stands for. */
  gapLength: number
  /** How many groups are written as zero. */
  zeros: number
  /** Whether every group is written in small hexadecimal digits without leading zeros. */
  isPlain: boolean
  readonly digits: HexDigits
}

const COLON = 58
const DOT = 46

const DIGITS: HexDigits = /* @__PURE__ */ createHexDigits()

export function createIpv6Scan(): Ipv6Scan {
  return {
    groups: new Uint16Array(8),
    gapStart: -1,
    gapLength: 0,
    zeros: 0,
    isPlain: true,
    digits: DIGITS,
  }
}

/**
 * Reads any RFC 4291 §2.2 spelling of IPv6, IPv4-mapped addresses included; no zone id, no
 * brackets. False when the text is something else. In one pass, because reading its characters is
 * most of what a decision about an address costs.
 */
export function scanIpv6(text: string, scan: Ipv6Scan): boolean {
  const { groups, digits } = scan
  const { length } = text
  let gapStart = text.startsWith('::') ? 0 : -1
  let at = gapStart < 0 ? 0 : 2
  let count = 0
  let zeros = 0
  let plain = 1
  while (at < length) {
    const four = readFour(text, at, digits)
    const width = countDigits(four)
    if (width === 0) {
      if (gapStart >= 0 || !isGap(text, at)) return false
      gapStart = count
      at += 1
      continue
    }
    if (count === 8) return false
    const separator = codeAt(text, at + width)
    if (separator === DOT) return endInIpv4(text, at, scan, { count, gapStart })
    const value = valueOf(four, width)
    groups[count] = value
    count += 1
    zeros += countZero(value)
    plain &= countPlain(four, width)
    at += width + 1
    if (separator < 0) break
    if (separator !== COLON || at === length) return false
  }
  scan.isPlain = plain !== 0
  scan.zeros = zeros
  return spread(scan, count, gapStart)
}

/** 1 for a group that is zero, else 0. */
function countZero(group: number): 0 | 1 {
  return group === 0 ? 1 : 0
}

/** Behind a colon, where no group follows: whether a second colon does. */
function isGap(text: string, at: number): boolean {
  return at > 0 && text.charCodeAt(at) === COLON
}

/** The character code, or -1 behind the end of the text. */
function codeAt(text: string, at: number): number {
  return at < text.length ? text.charCodeAt(at) : -1
}

/** Reads the last two groups from dotted decimal. */
function endInIpv4(
  text: string,
  start: number,
  scan: Ipv6Scan,
  { count, gapStart }: { readonly count: number; readonly gapStart: number },
): boolean {
  if (count > 6 || !scanIpv4(text, start, scan.groups, count)) return false
  scan.isPlain = false
  scan.zeros = 0
  return spread(scan, count + 2, gapStart)
}

/** Moves the groups behind `::` to the end; it stands for one group or more, never for none. */
function spread(scan: Ipv6Scan, count: number, gapStart: number): boolean {
  const missing = 8 - count
  scan.gapStart = gapStart
  scan.gapLength = missing
  if (gapStart < 0) return missing === 0
  if (missing < 1) return false
  const { groups } = scan
  for (let at = 7; at >= gapStart + missing; at -= 1) groups[at] = groups[at - missing]!
  for (let at = gapStart; at < gapStart + missing; at += 1) groups[at] = 0
  return true
}
