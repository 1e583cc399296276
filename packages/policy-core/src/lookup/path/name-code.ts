import { isOdd, SLASH } from './plain-path.ts'

/** Maximum length of a plain name that its code identifies. */
export const MAX_EXACT = 9

/**
 * The code of the last name: seven bits per character, in two halves. The bits of a longer name
 * wrap around and mix, so its code is only a hash.
 */
export class NameCode {
  low = 0
  high = 0

  /** Reads the name from `from` up to `/` or the end. Returns -1 at an odd character. */
  read(path: string, from: number): number {
    let low = 0
    let high = 0
    let to = from
    for (; to < path.length; to += 1) {
      const code = path.charCodeAt(to)
      if (code === SLASH) break
      if (isOdd(code)) return -1
      const carry = high >>> 25
      high = (high << 7) | (low >>> 25)
      low = ((low << 7) | carry) ^ code
    }
    this.low = low
    this.high = high
    return to
  }
}
