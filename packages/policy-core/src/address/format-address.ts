/** Dotted decimal of 32 bits. */
export function formatIpv4Bits(bits: number): string {
  return `${bits >>> 24}.${(bits >>> 16) & 0xff}.${(bits >>> 8) & 0xff}.${bits & 0xff}`
}

/** RFC 5952 of eight 16-bit groups: small letters, the first longest run of zeros as `::`. */
export function formatGroups(groups: Uint16Array): string {
  const { start, length } = longestZeroRun(groups)
  if (start < 0) return join(groups, 0, 8)
  return `${join(groups, 0, start)}::${join(groups, start + length, 8)}`
}

/** The groups that RFC 5952 §4.2 writes as `::`: two at least; `start` is -1 without such a run. */
export function longestZeroRun(groups: Uint16Array): { start: number; length: number } {
  let start = -1
  let length = 1
  let zeros = 0
  for (let at = 0; at < 8; at += 1) {
    zeros = groups[at] === 0 ? zeros + 1 : 0
    if (zeros > length) {
      length = zeros
      start = at + 1 - zeros
    }
  }
  return { start, length }
}

function join(groups: Uint16Array, start: number, end: number): string {
  let text = ''
  for (let at = start; at < end; at += 1) text += (at > start ? ':' : '') + groups[at]!.toString(16)
  return text
}
