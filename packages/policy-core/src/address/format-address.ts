import type { Ipv6Words } from './ipv6-words.ts'

/** Dotted decimal of 32 bits. */
export function formatIpv4Bits(bits: number): string {
  return `${bits >>> 24}.${(bits >>> 16) & 0xff}.${(bits >>> 8) & 0xff}.${bits & 0xff}`
}

/** RFC 5952: small letters, no padding, the first longest run of zero groups as `::`. */
export function formatWords(words: Ipv6Words): string {
  const { start, length } = longestZeroRun(words)
  const groups = Array.from({ length: 8 }, (_, at) => groupAt(words, at).toString(16))
  if (start < 0) return groups.join(':')
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`
}

/** The groups that RFC 5952 §4.2 writes as `::`: two at least; `start` is -1 without such a run. */
export function longestZeroRun(words: Ipv6Words): { start: number; length: number } {
  let start = -1
  let length = 1
  let zeros = 0
  for (let at = 0; at < 8; at += 1) {
    zeros = groupAt(words, at) === 0 ? zeros + 1 : 0
    if (zeros > length) {
      length = zeros
      start = at + 1 - zeros
    }
  }
  return { start, length }
}

/** One of eight groups of 16 bits. */
function groupAt(words: Ipv6Words, at: number): number {
  return (words[at >> 1]! >>> (at % 2 === 0 ? 16 : 0)) & 0xffff
}
