/** The four words of an IPv6 address, most significant first. */
export function wordsOf(value: bigint): Uint32Array {
  return Uint32Array.from([96n, 64n, 32n, 0n], (shift) => Number((value >> shift) & 0xffffffffn))
}
