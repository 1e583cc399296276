/** Values and kinds of `0` and the 63 characters after it, by character code from `0` on. */
export type HexDigits = Int8Array

/** Four characters of an IPv6 address, a byte each, the first one highest: value and kind. */
export type FourDigits = number

const ZERO = 48
const CAPITAL_A = 65
const SMALL_A = 97
/** A typed array of more than 64 bytes takes a microsecond to make. */
const CODES = 64

/** Kinds of characters, beside the four bits of a value. */
const IS_CAPITAL = 0x20
const IS_NONE = 0x40

/** Kinds of characters that any of four digits may have, each kind in a byte of its own. */
const ANY_CAPITAL = 0x2020_2020
const ANY_NONE = 0x4040_4040

export function createHexDigits(): HexDigits {
  const digits = new Int8Array(CODES).fill(IS_NONE)
  for (let value = 0; value < 10; value += 1) digits[value] = value
  for (let value = 10; value < 16; value += 1) {
    digits[CAPITAL_A - ZERO + value - 10] = value | IS_CAPITAL
    digits[SMALL_A - ZERO + value - 10] = value
  }
  return digits
}

/** Reads four characters from `at` on. Positions past the end of the text are no digits. */
export function readFour(text: string, at: number, digits: HexDigits): FourDigits {
  if (at + 4 > text.length) return readStepwise(text, at, digits)
  const a = text.charCodeAt(at) - ZERO
  const b = text.charCodeAt(at + 1) - ZERO
  const c = text.charCodeAt(at + 2) - ZERO
  const d = text.charCodeAt(at + 3) - ZERO
  const codes = a | b | c | d
  if (codes < 0 || codes >= CODES) return readStepwise(text, at, digits)
  return (digits[a]! << 24) | (digits[b]! << 16) | (digits[c]! << 8) | digits[d]!
}

function readStepwise(text: string, start: number, digits: HexDigits): FourDigits {
  let four = 0
  for (let at = start; at < start + 4; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) - ZERO : -1
    four = (four << 8) | (code >= 0 && code < CODES ? digits[code]! : IS_NONE)
  }
  return four
}

/**
 * How many digits come first. By a branch, for nearly always it is four: then a processor need not
 * wait for these characters before it reads those behind them.
 */
export function countDigits(four: FourDigits): number {
  const none = four & ANY_NONE
  return none === 0 ? 4 : Math.clz32(none) >>> 3
}

/** The number that the first `count` digits are. */
export function valueOf(four: FourDigits, count: number): number {
  const values = four & 0x0f0f_0f0f
  const pairs = (values | (values >>> 4)) & 0x00ff_00ff
  return ((pairs | (pairs >>> 8)) & 0xffff) >>> (16 - 4 * count)
}

/**
 * 1 when they neither begin with a zero before other digits nor have a capital among them, else 0.
 */
export function countPlain(four: FourDigits, count: number): 0 | 1 {
  const isPadded = (four & 0x0f00_0000) === 0 && count > 1
  return isPadded || (four & ANY_CAPITAL) !== 0 ? 0 : 1
}
