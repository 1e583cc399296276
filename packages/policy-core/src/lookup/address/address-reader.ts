import { formatGroups, formatIpv4Bits, longestZeroRun } from '../../address/format-address.ts'
import { MAX_IPV4_LENGTH, scanIpv4 } from '../../address/scan-ipv4.ts'
import { createIpv6Scan, scanIpv6, type Ipv6Scan } from '../../address/scan-ipv6.ts'

/** Reads one address after the other into the same few words, so that none allocates anything. */
export class AddressReader {
  /** The bits of the address just read, the most significant first: one word, or four. */
  readonly words: Uint32Array = new Uint32Array(4)
  readonly #scan = createIpv6Scan()
  #family: 0 | 4 | 6 = 0
  #isMapped = false

  /**
   * The family of the address, or 0 when the text is none. The language is that of `parseAddress`:
   * an IPv4-mapped address reads as the IPv4 address.
   */
  read(text: string): 0 | 4 | 6 {
    const { words } = this
    const { groups } = this.#scan
    this.#isMapped = false
    if (text.length <= MAX_IPV4_LENGTH && scanIpv4(text, 0, groups, 0)) {
      words[0] = (groups[0]! << 16) | groups[1]!
      return (this.#family = 4)
    }
    if (!scanIpv6(text, this.#scan)) return (this.#family = 0)
    packGroups(groups, words)
    this.#isMapped = words[0] === 0 && words[1] === 0 && words[2] === 0xffff
    if (!this.#isMapped) return (this.#family = 6)
    words[0] = words[3]!
    return (this.#family = 4)
  }

  /** The same for the canonical spelling of an address; 0 for every other. */
  readCanonical(text: string): 0 | 4 | 6 {
    const family = this.read(text)
    if (family === 6) return isCanonicalIpv6(this.#scan) ? 6 : 0
    return this.#isMapped ? 0 : family
  }

  /** Tells whether the text just read is the canonical one, which `format` would make. */
  isCanonical(): boolean {
    return this.#family === 6 ? isCanonicalIpv6(this.#scan) : this.#family === 4 && !this.#isMapped
  }

  /** The address just read, as `formatAddress` writes it. */
  format(): string {
    return this.#family === 6 ? formatGroups(this.#scan.groups) : formatIpv4Bits(this.words[0]!)
  }
}

function packGroups(groups: Uint16Array, words: Uint32Array): void {
  for (let at = 0; at < 4; at += 1) words[at] = (groups[2 * at]! << 16) | groups[2 * at + 1]!
}

/** RFC 5952 leaves one spelling: small letters, no padding, `::` for the first longest run. */
function isCanonicalIpv6({ groups, gapStart, gapLength, zeros, isPlain }: Ipv6Scan): boolean {
  if (!isPlain) return false
  // As most are: no run but the gap.
  if (gapStart < 0 ? zeros < 2 : zeros === 0 && gapLength > 1) return true
  const { start, length } = longestZeroRun(groups)
  return start === gapStart && (start < 0 || length === gapLength)
}
