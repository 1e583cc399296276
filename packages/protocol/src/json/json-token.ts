const ESCAPED = '"\\/bfnrt'
const DELIMITERS = ' \t\n\r{}[]:,"/'
const WORDS = ['true', 'false', 'null'] as const

/** The first index from `start` on that is not white space. */
export function endOfSpace(text: string, start: number): number {
  let index = start
  while (isSpace(text.charCodeAt(index))) index += 1
  return index
}

/** The index after the string that begins at `start`, or -1 when it is not a JSON string. */
export function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === 0x22) return index + 1
    if (unit < 0x20) return -1
    if (unit !== 0x5c) continue
    index += 1
    if (ESCAPED.includes(text.charAt(index)) && index < text.length) continue
    if (text.charAt(index) !== 'u') return -1
    for (const last = index + 4; index < last;) {
      index += 1
      if (!isHexDigit(text.charCodeAt(index))) return -1
    }
  }
  return -1
}

/** The index after the number that begins at `start`, or -1 when it is not a JSON number. */
export function endOfNumber(text: string, start: number): number {
  const whole = text.charAt(start) === '-' ? start + 1 : start
  let end = text.charAt(whole) === '0' ? whole + 1 : endOfDigits(text, whole)
  if (end === whole) return -1
  if (text.charAt(end) === '.') {
    const fraction = end + 1
    end = endOfDigits(text, fraction)
    if (end === fraction) return -1
  }
  if (text.charAt(end) === 'e' || text.charAt(end) === 'E') {
    const sign = text.charAt(end + 1)
    const exponent = sign === '+' || sign === '-' ? end + 2 : end + 1
    end = endOfDigits(text, exponent)
    if (end === exponent) return -1
  }
  return end
}

/** The index after `true`, `false` or `null` at `start`, or -1 when another word stands there. */
export function endOfWord(text: string, start: number): number {
  for (const word of WORDS) {
    const end = start + word.length
    if (
      text.startsWith(word, start) &&
      (end === text.length || DELIMITERS.includes(text.charAt(end)))
    )
      return end
  }
  return -1
}

function endOfDigits(text: string, start: number): number {
  let index = start
  while (isDigit(text.charCodeAt(index))) index += 1
  return index
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39
}

function isHexDigit(unit: number): boolean {
  const letter = unit | 0x20
  return isDigit(unit) || (letter >= 0x61 && letter <= 0x66)
}
