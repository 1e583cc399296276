import { isOdd, SLASH } from './plain-path.ts'

/** A plain name of up to so many characters is equal to another when their codes are equal. */
export const MAX_EXACT = 9

/**
 * The code of the name read last: seven bits a character in two halves. Those of a longer name
 * wrap round and mix, so that its code is a hash only.
 */
export class NameCode {
  low = 0
  high = 0

  /** Reads the name that begins there, up to `/` or the end. -1 at a character that is odd. */
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
