/** Parameters of RFC 3492 §5. */
const BASE = 36
const T_MIN = 1
const T_MAX = 26
const SKEW = 38
const DAMP = 700
const INITIAL_BIAS = 72
const INITIAL_CODE_POINT = 0x80
const LAST_CODE_POINT = 0x10ffff

/**
 * Decodes the part after `xn--` of a host label of at most 63 characters (RFC 3492 §6.2). Returns
 * null for an invalid encoding.
 */
export function decodePunycode(text: string): string | null {
  const delimiter = text.lastIndexOf('-')
  const letters = Array.from(text.slice(0, Math.max(0, delimiter)), codeOf)
  let at = delimiter + 1
  let codePoint = INITIAL_CODE_POINT
  let index = 0
  let bias = INITIAL_BIAS
  while (at < text.length) {
    const before = index
    let weight = 1
    for (let k = BASE; ; k += BASE) {
      const digit = digitOf(text.charCodeAt(at++))
      if (digit === null) return null
      index += digit * weight
      const threshold = Math.min(T_MAX, Math.max(T_MIN, k - bias))
      if (digit < threshold) break
      weight *= BASE - threshold
    }
    const length = letters.length + 1
    bias = adapt(index - before, length, before === 0)
    codePoint += Math.floor(index / length)
    index %= length
    if (!(codePoint <= LAST_CODE_POINT)) return null
    letters.splice(index++, 0, codePoint)
  }
  return String.fromCodePoint(...letters)
}

function adapt(delta: number, length: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? DAMP : 2))
  rest += Math.floor(rest / length)
  let k = 0
  for (; rest > ((BASE - T_MIN) * T_MAX) / 2; k += BASE) rest = Math.floor(rest / (BASE - T_MIN))
  return k + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW))
}

/** `a` to `z` are 0 to 25, `0` to `9` are 26 to 35; null for others, also past the end. */
function digitOf(unit: number): number | null {
  if (unit >= 0x61 && unit <= 0x7a) return unit - 0x61
  return unit >= 0x30 && unit <= 0x39 ? unit - 0x30 + 26 : null
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0
}
