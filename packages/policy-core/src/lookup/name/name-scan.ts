import { MAX_LABEL_LENGTH, MAX_NAME_LENGTH } from '../../host/host.ts'

/** The text may be a name, but not in the plain form that a scan can vouch for. */
export const NOT_PLAIN = -2

/** Where dots begin in what a scan has found, behind the characters. */
export const FIRST_DOT = 256
/** The same, in the loop: what a module exports is loaded anew each time. */
const DOTS = FIRST_DOT

const DOT = 46
const HYPHEN = 45
const DIGIT_9 = 57
const LETTER_L = 108

/** Kinds of characters, in bits. A dot takes two places, so its bit is two. */
const IS_ODD = 0b001
const IS_DOT = 0b010
const IS_HYPHEN = 0b100

/** Where the kinds that stood in pairs are noted, above the bits of any character. */
const PAIR_SHIFT = 16
const WIDE = 0xff00

/** A character that no plain name has, or an empty label. */
const ODD_ANYWHERE = IS_ODD | WIDE | (IS_DOT << PAIR_SHIFT)

/**
 * Reading characters is what a lookup consists of (1.6 ns each, whatever is done with them), so
 * they are read once: to check the name, to hash the domains above it, and to compare them later.
 * Nothing branches on dots, which come too irregularly to be predicted, and one array and few
 * variables hold everything, for a processor has few registers: measured, 97 instead of 112 ns a
 * name. Two characters a turn save another fifth.
 */
export class NameScan {
  /**
   * What one pass over a name, from its end, has found: the characters, and from `FIRST_DOT` on for
   * each dot, the last one first, the place where the domain behind it starts, and its hash.
   */
  readonly found: Int32Array = new Int32Array(FIRST_DOT + 2 * MAX_NAME_LENGTH + 2)
  readonly #kinds = createKinds()
  #seen = 0

  /** The place in `found` behind the last dot, or `NOT_PLAIN`. */
  read(name: string): number {
    const end = this.readCanonical(name)
    if (end < 0 || (this.#seen & ODD_ANYWHERE) !== 0) return NOT_PLAIN
    // Only what has two hyphens can hold an A-label, which has to be validated.
    if (this.#seen >> PAIR_SHIFT !== 0 && name.includes('xn--')) return NOT_PLAIN
    if (name.length > MAX_LABEL_LENGTH && this.#hasLongLabel(name.length, end)) return NOT_PLAIN
    return isOddEnd(name, this.found[DOTS]!) ? NOT_PLAIN : end
  }

  /** The same for a canonical name, whatever it looks like. */
  readCanonical(name: string): number {
    const found = this.found
    const kinds = this.#kinds
    const { length } = name
    if (length > MAX_NAME_LENGTH) return NOT_PLAIN
    let end = DOTS
    let hash = 0
    let all = 0
    let before = IS_DOT
    let at = length - 1
    if ((length & 1) !== 0) {
      const code = name.charCodeAt(at)
      before = kinds[code & 0xff]!
      all = before | (code & WIDE) | ((before & IS_DOT) << PAIR_SHIFT)
      found[at] = code
      found[DOTS] = at + 1
      found[DOTS + 1] = 0
      end += before & IS_DOT
      hash = code
      at -= 1
    }
    for (; at > 0; at -= 2) {
      const code = name.charCodeAt(at)
      const nextCode = name.charCodeAt(at - 1)
      const kind = kinds[code & 0xff]!
      const next = kinds[nextCode & 0xff]!
      all |= kind | next | ((code | nextCode) & WIDE) | ((kind & (before | next)) << PAIR_SHIFT)
      before = next
      found[end] = at + 1
      found[end + 1] = hash
      end += kind & IS_DOT
      hash = rotate(hash) ^ code
      found[end] = at
      found[end + 1] = hash
      end += next & IS_DOT
      hash = rotate(hash) ^ nextCode
      found[at] = code
      found[at - 1] = nextCode
    }
    found[end] = 0
    this.#seen = all | ((before & IS_DOT) << PAIR_SHIFT)
    return end
  }

  /** Whether some label is longer than a label may be. */
  #hasLongLabel(length: number, end: number): boolean {
    let behind = length + 1
    for (let dot = DOTS; dot <= end; dot += 2) {
      const start = this.found[dot]!
      if (behind - start > MAX_LABEL_LENGTH + 1) return true
      behind = start
    }
    return false
  }
}

/** A number in the end is an IPv4 address, perhaps, and `localhost` means one. */
function isOddEnd(name: string, start: number): boolean {
  const first = name.charCodeAt(start)
  if (first <= DIGIT_9 && first !== HYPHEN) return true
  return first === LETTER_L && name.length - start === 9 && name.endsWith('localhost')
}

/** The hash that a scan has found when it comes to the dot before `domain`. */
export function hashDomain(domain: string): number {
  let hash = 0
  for (let at = domain.length - 1; at >= 0; at -= 1) hash = rotate(hash) ^ domain.charCodeAt(at)
  return hash
}

function rotate(hash: number): number {
  return (hash << 5) | (hash >>> 27)
}

/** The kind of each of the first 256 characters: plain are a to z, 0 to 9, `-` and `_`. */
function createKinds(): Uint8Array {
  const kinds = new Uint8Array(256).fill(IS_ODD)
  for (const char of 'abcdefghijklmnopqrstuvwxyz0123456789_') kinds[char.charCodeAt(0)] = 0
  kinds[HYPHEN] = IS_HYPHEN
  kinds[DOT] = IS_DOT
  return kinds
}
