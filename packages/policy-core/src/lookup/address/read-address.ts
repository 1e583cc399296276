import { formatIpv4Bits, formatWords } from '../../address/format-address.ts'
import type { Ipv6Words } from '../../address/ipv6-words.ts'
import { MAX_IPV4_LENGTH, scanIpv4 } from '../../address/scan-ipv4.ts'
import { scanIpv6 } from '../../address/scan-ipv6.ts'

/**
 * An address as a request names it, in numbers that an index takes. An IPv4-mapped IPv6 address is
 * the IPv4 address, in a spelling that is not canonical.
 */
export type AskedAddress =
  | { readonly family: 4; readonly bits: number; readonly isCanonical: boolean }
  | { readonly family: 6; readonly words: Ipv6Words; readonly isCanonical: boolean }

/** Null when the text is no address. The language is that of `parseAddress`. */
export function readAddress(text: string): AskedAddress | null {
  const bits = text.length <= MAX_IPV4_LENGTH ? scanIpv4(text, 0) : null
  if (bits !== null) return { family: 4, bits, isCanonical: true }
  const scanned = scanIpv6(text)
  if (scanned === null) return null
  const { words, isCanonical } = scanned
  const isMapped = words[0] === 0 && words[1] === 0 && words[2] === 0xffff
  return isMapped
    ? { family: 4, bits: words[3], isCanonical: false }
    : { family: 6, words, isCanonical }
}

/** Writes an address as `formatAddress` does. */
export function formatAsked(address: AskedAddress): string {
  return address.family === 4 ? formatIpv4Bits(address.bits) : formatWords(address.words)
}
