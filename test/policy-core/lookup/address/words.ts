import type { Ipv6Words } from '../../../../packages/policy-core/src/address/ipv6-words.ts'

/** Returns the four words of an IPv6 address, most significant first, as signed numbers. */
export function wordsOf(value: bigint): Ipv6Words {
  const word = (shift: bigint): number => Number(BigInt.asIntN(32, value >> shift))
  return [word(96n), word(64n), word(32n), word(0n)]
}
