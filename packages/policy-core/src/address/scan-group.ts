/** Values of hexadecimal digits by character code from `0` on; -1 for what is none. */
export type HexDigits = Int8Array

/**
 * One group of an IPv6 address: its 16 bits, from bit 16 on how many characters it has (0 when
 * there is none), and `PLAIN_GROUP`.
 */
export type ScannedGroup = number

/** Set when the group has neither capitals nor leading zeros. */
export const PLAIN_GROUP = 0b1000_0000_0000_0000_0000

const ZERO = 48
const CAPITAL_A = 65
const SMALL_A = 97
/** A typed array of more than 64 bytes takes a microsecond to make. */
const CODES = 64
/** Set in the code of every digit and small letter, clear in that of a capital. */
const NOT_CAPITAL = 0x20

export function createHexDigits(): HexDigits {
  const digits = new Int8Array(CODES).fill(-1)
  for (let value = 0; value < 10; value += 1) digits[value] = value
  for (let value = 10; value < 16; value += 1) {
    digits[CAPITAL_A - ZERO + value - 10] = value
    digits[SMALL_A - ZERO + value - 10] = value
  }
  return digits
}

export function valueOf(group: ScannedGroup): number {
  return group & 0xffff
}

/** 1 when the group stands for zero, else 0. */
export function countZero(group: ScannedGroup): 0 | 1 {
  return valueOf(group) === 0 ? 1 : 0
}

export function widthOf(group: ScannedGroup): number {
  return (group >>> 16) & 0b111
}

/**
 * Reads up to four hexadecimal digits. Four at once where there are four: to branch on each would
 * cost half as much again, as a processor cannot guess what comes next.
 */
export function scanGroup(text: string, at: number, digits: HexDigits): ScannedGroup {
  if (at + 4 > text.length) return scanStepwise(text, at, digits)
  const a = text.charCodeAt(at)
  const b = text.charCodeAt(at + 1)
  const c = text.charCodeAt(at + 2)
  const d = text.charCodeAt(at + 3)
  const codes = (a - ZERO) | (b - ZERO) | (c - ZERO) | (d - ZERO)
  if (codes < 0 || codes >= CODES) return scanStepwise(text, at, digits)
  const first = digits[a - ZERO]!
  const second = digits[b - ZERO]!
  const third = digits[c - ZERO]!
  const fourth = digits[d - ZERO]!
  if ((first | second | third | fourth) < 0) return scanStepwise(text, at, digits)
  return describe((first << 12) | (second << 8) | (third << 4) | fourth, 4, a & b & c & d)
}

function scanStepwise(text: string, start: number, digits: HexDigits): ScannedGroup {
  const end = Math.min(start + 4, text.length)
  let value = 0
  let codes = NOT_CAPITAL
  let at = start
  for (; at < end; at += 1) {
    const code = text.charCodeAt(at)
    const digit = code >= ZERO && code < ZERO + CODES ? digits[code - ZERO]! : -1
    if (digit < 0) break
    value = (value << 4) | digit
    codes &= code
  }
  return describe(value, at - start, codes)
}

function describe(value: number, width: number, codes: number): ScannedGroup {
  const isPadded = width > 1 && value >>> (4 * width - 4) === 0
  const isPlain = !isPadded && (codes & NOT_CAPITAL) !== 0
  return value | (width << 16) | (isPlain ? PLAIN_GROUP : 0)
}
