import { longestZeroRun } from './format-address.ts'
import {
  countDigits,
  countPlain,
  createHexDigits,
  readFour,
  valueOf,
  type HexDigits,
} from './hex-digits.ts'
import type { Ipv6Words } from './ipv6-words.ts'
import { scanIpv4 } from './scan-ipv4.ts'

/** An IPv6 address as a text writes it. */
export interface ScannedIpv6 {
  readonly words: Ipv6Words
  /** Whether the text is the spelling of RFC 5952, which has no dotted decimal here. */
  readonly isCanonical: boolean
}

/** The groups of a text from left to right, those behind `::` next to those before it. */
interface Written {
  /** Eight, of which the first `count` are read. */
  readonly groups: number[]
  readonly count: number
  /** The first group that `::` stands for, or -1 without `::`. */
  readonly gapStart: number
  /** How many groups are written as zero. */
  readonly zeros: number
  /** Whether every group is written in small hexadecimal digits without leading zeros. */
  readonly isPlain: boolean
}

const COLON = 58
const DOT = 46

const DIGITS: HexDigits = /* @__PURE__ */ createHexDigits()

/**
 * Reads any RFC 4291 §2.2 spelling of IPv6, IPv4-mapped addresses included; no zone id, no
 * brackets. Null for other texts. One pass, because reading the characters dominates the cost of a
 * decision about an address. bench: decide/addresses
 */
export function scanIpv6(text: string): ScannedIpv6 | null {
  const { length } = text
  const groups = [0, 0, 0, 0, 0, 0, 0, 0]
  let gapStart = text.startsWith('::') ? 0 : -1
  let at = gapStart < 0 ? 0 : 2
  let count = 0
  let zeros = 0
  let plain = 1
  while (at < length) {
    const four = readFour(text, at, DIGITS)
    const width = countDigits(four)
    if (width === 0) {
      if (gapStart >= 0 || !isGap(text, at)) return null
      gapStart = count
      at += 1
      continue
    }
    if (count === 8) return null
    const separator = codeAt(text, at + width)
    if (separator === DOT) return endInIpv4(text, at, { groups, count, gapStart })
    const value = valueOf(four, width)
    groups[count] = value
    count += 1
    zeros += countZero(value)
    plain &= countPlain(four, width)
    at += width + 1
    if (separator < 0) break
    if (separator !== COLON || at === length) return null
  }
  return spread({ groups, count, gapStart, zeros, isPlain: plain !== 0 })
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
  { groups, count, gapStart }: Pick<Written, 'groups' | 'count' | 'gapStart'>,
): ScannedIpv6 | null {
  const bits = count > 6 ? null : scanIpv4(text, start)
  if (bits === null) return null
  groups[count] = bits >>> 16
  groups[count + 1] = bits & 0xffff
  return spread({ groups, count: count + 2, gapStart, zeros: 0, isPlain: false })
}

/** Moves the groups after `::` to the end. `::` represents at least one group. */
function spread({ groups, count, gapStart, zeros, isPlain }: Written): ScannedIpv6 | null {
  const missing = 8 - count
  if (gapStart < 0 ? missing !== 0 : missing < 1) return null
  if (gapStart >= 0) {
    for (let at = 7; at >= gapStart + missing; at -= 1) groups[at] = groups[at - missing]!
    for (let at = gapStart; at < gapStart + missing; at += 1) groups[at] = 0
  }
  const words: Ipv6Words = [
    packAt(groups, 0),
    packAt(groups, 2),
    packAt(groups, 4),
    packAt(groups, 6),
  ]
  return { words, isCanonical: isPlain && isShortest(words, gapStart, missing, zeros) }
}

function packAt(groups: readonly number[], at: number): number {
  return (groups[at]! << 16) | groups[at + 1]!
}

/** RFC 5952 §4.2: `::` stands for the first longest run of two zero groups or more. */
function isShortest(words: Ipv6Words, gapStart: number, gap: number, zeros: number): boolean {
  // As most are: no run but the gap.
  if (gapStart < 0 ? zeros < 2 : zeros === 0 && gap > 1) return true
  const { start, length } = longestZeroRun(words)
  return start === gapStart && (start < 0 || length === gap)
}
