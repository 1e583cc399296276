import { MAX_LABEL_LENGTH, MAX_NAME_LENGTH } from '../../host/host.ts'

/** The text may be a name, but a scan cannot confirm it. */
export const NOT_PLAIN = -2

const DOT = 46
const HYPHEN = 45
const DIGIT_9 = 57
const LETTER_L = 108

/** Kinds of characters, in bits. A dot takes one place, so its bit is one. */
const IS_DOT = 0b001
const IS_ODD = 0b010

/** Position of the bit for two adjacent dots, above the bits of any character. */
const PAIR_SHIFT = 16
const WIDE = 0xff00

/** The hash follows the position of a dot, which is below 256. */
const HASH_SHIFT = 8

/** A character that plain names exclude, or an empty label. */
const ODD_ANYWHERE = IS_ODD | WIDE | (IS_DOT << PAIR_SHIFT)

/**
 * Reads each character of a name once, two per iteration, to check the name and to hash the domains
 * above it. Reading dominates the cost of a lookup. The loop has no branch on dots, because a
 * processor cannot predict them, and stores one number per character. bench: decide/hosts
 */
export class NameScan {
  /** The results of one pass over a name, for each dot from the end of the name. */
  readonly found: Int32Array = new Int32Array(MAX_NAME_LENGTH + 1)
  dots = 0
  /** The hash of the whole name. */
  hash = 0
  readonly #kinds = createKinds()
  #seen = 0

  /** Returns whether the name is plain. If it is not, the other results are of no use. */
  read(name: string): boolean {
    if (name.length > MAX_NAME_LENGTH) return false
    this.readCanonical(name)
    if ((this.#seen & ODD_ANYWHERE) !== 0) return false
    if (name.length > MAX_LABEL_LENGTH && this.#hasLongLabel(name.length)) return false
    return !isOddEnd(name, startOf(this.found[0]!))
  }

  /** Like `read`, for a name that is known to be canonical. */
  readCanonical(name: string): void {
    const found = this.found
    const kinds = this.#kinds
    const { length } = name
    let end = 0
    let hash = 0
    let all = 0
    let before = IS_DOT
    let at = length - 1
    if ((length & 1) !== 0) {
      const code = name.charCodeAt(at)
      before = kinds[code & 0xff]!
      all = before | (code & WIDE) | ((before & IS_DOT) << PAIR_SHIFT)
      found[0] = at + 1
      end = before & IS_DOT
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
      found[end] = (hash << HASH_SHIFT) | (at + 1)
      end += kind & IS_DOT
      hash = rotate(hash) ^ code
      found[end] = (hash << HASH_SHIFT) | at
      end += next & IS_DOT
      hash = rotate(hash) ^ nextCode
    }
    found[end] = 0
    this.dots = end
    this.hash = hashOf(hash << HASH_SHIFT)
    this.#seen = all | ((before & IS_DOT) << PAIR_SHIFT)
  }

  /** Whether some label is longer than a label may be. */
  #hasLongLabel(length: number): boolean {
    let behind = length + 1
    for (let dot = 0; dot <= this.dots; dot += 1) {
      const start = startOf(this.found[dot]!)
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

/** Where the domain behind a dot starts. */
export function startOf(found: number): number {
  return found & 0xff
}

/** The 24 bits of its hash. */
export function hashOf(found: number): number {
  return found >>> HASH_SHIFT
}

function rotate(hash: number): number {
  return (hash << 5) | (hash >>> 27)
}

/** The kind of each of the first 256 characters: plain are a to z, 0 to 9, `-` and `_`. */
function createKinds(): Uint8Array {
  const kinds = new Uint8Array(256).fill(IS_ODD)
  for (const char of 'abcdefghijklmnopqrstuvwxyz0123456789-_') kinds[char.charCodeAt(0)] = 0
  kinds[DOT] = IS_DOT
  return kinds
}
