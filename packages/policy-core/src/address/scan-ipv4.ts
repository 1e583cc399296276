const ZERO = 48
/** A dot, as the digit that it is not. */
const DOT = 46 - ZERO
/** `255.255.255.255` */
export const MAX_IPV4_LENGTH = 15

/**
 * Reads four decimal numbers 0 to 255, without leading zeros, from `start` to the end of the text,
 * and writes their 32 bits as `halves[at]` and the one behind it; false when something else stands
 * there. Each character is read once: that is what most of the time goes to. (A function that
 * returned the bits would have to make an object of every number above 2^31.)
 */
export function scanIpv4(text: string, start: number, halves: Uint16Array, at: number): boolean {
  const { length } = text
  let bits = 0
  let octet = -1
  let dots = 0
  for (let place = start; place < length; place += 1) {
    const digit = text.charCodeAt(place) - ZERO
    if (digit >= 0) {
      if (digit > 9 || octet === 0) return false
      octet = octet < 0 ? digit : octet * 10 + digit
      if (octet > 255) return false
    } else {
      if (digit !== DOT || octet < 0 || dots === 3) return false
      bits = (bits << 8) | octet
      octet = -1
      dots += 1
    }
  }
  halves[at] = bits >>> 8
  halves[at + 1] = (bits << 8) | octet
  return dots === 3 && octet >= 0
}
