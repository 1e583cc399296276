const ZERO = 48
/** A dot, as the digit that it is not. */
const DOT = 46 - ZERO
/** `255.255.255.255` */
export const MAX_IPV4_LENGTH = 15

/**
 * Reads four decimal numbers 0 to 255, without leading zeros, from `start` to the end of the text:
 * their 32 bits as a signed number, or null. Each character is read once. bench: decide/addresses
 */
export function scanIpv4(text: string, start: number): number | null {
  const { length } = text
  let bits = 0
  let octet = -1
  let dots = 0
  for (let index = start; index < length; index += 1) {
    const digit = text.charCodeAt(index) - ZERO
    if (digit >= 0) {
      if (digit > 9 || octet === 0) return null
      octet = octet < 0 ? digit : octet * 10 + digit
      if (octet > 255) return null
    } else {
      if (digit !== DOT || octet < 0 || dots === 3) return null
      bits = (bits << 8) | octet
      octet = -1
      dots += 1
    }
  }
  return dots === 3 && octet >= 0 ? (bits << 8) | octet : null
}
