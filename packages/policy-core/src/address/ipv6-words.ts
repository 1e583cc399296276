/** An IPv6 address as four signed numbers of 32 bits, the most significant first. */
export type Ipv6Words = readonly [number, number, number, number]

const LOW_WORD = 0xffff_ffffn

export function wordsOfBits(bits: bigint): Ipv6Words {
  return [wordAt(bits, 96n), wordAt(bits, 64n), wordAt(bits, 32n), wordAt(bits, 0n)]
}

export function bitsOfWords([first, second, third, last]: Ipv6Words): bigint {
  const high = (BigInt(first >>> 0) << 32n) | BigInt(second >>> 0)
  const low = (BigInt(third >>> 0) << 32n) | BigInt(last >>> 0)
  return (high << 64n) | low
}

function wordAt(bits: bigint, shift: bigint): number {
  return Number((bits >> shift) & LOW_WORD) | 0
}

/** Up to 32 bits from `start` on, counted from the left, in the lowest bits of the result. */
export function sliceBits(words: Ipv6Words, start: number, count: number): number {
  const word = start >>> 5
  const offset = start & 31
  const rest = offset === 0 ? 0 : words[word + 1]! >>> (32 - offset)
  return ((words[word]! << offset) | rest) >>> (32 - count)
}

/** The mask of the first `bits` bits of a word, where `bits` is clamped to 0 and 32. */
export function maskOf(bits: number): number {
  if (bits <= 0) return 0
  return bits >= 32 ? -1 : -1 << (32 - bits)
}
