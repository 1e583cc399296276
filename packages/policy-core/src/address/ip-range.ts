import { FAMILY_BITS, type IpAddress } from './ip-address.ts'

/** A CIDR range (RFC 4632): the addresses that share the first `prefix` bits of `base`. */
export interface IpRange {
  readonly family: IpAddress['family']
  readonly base: bigint
  /** 0 to 32 for IPv4, 0 to 128 for IPv6. */
  readonly prefix: number
}

/** The range that holds one address alone. */
export function singleAddress(address: IpAddress): IpRange {
  return { family: address.family, base: address.value, prefix: FAMILY_BITS[address.family] }
}

/** Tells whether the address lies in the range. An IPv6 range never holds an IPv4 address. */
export function rangeContains(range: IpRange, address: IpAddress): boolean {
  return (
    range.family === address.family && network(range, address.value) === network(range, range.base)
  )
}

/** Tells whether every address of `inner` lies in `outer`. */
export function rangeCovers(outer: IpRange, inner: IpRange): boolean {
  return (
    outer.prefix <= inner.prefix &&
    rangeContains(outer, { family: inner.family, value: inner.base })
  )
}

/** The first address of the range that `base` and `prefix` describe: its host bits are zero. */
export function firstAddress(range: IpRange): bigint {
  return network(range, range.base) << hostBits(range)
}

/** Tells whether `base` is not the first address. */
export function hasHostBits({ family, base, prefix }: IpRange): boolean {
  return BigInt.asUintN(FAMILY_BITS[family] - prefix, base) !== 0n
}

/** The last address of the range. */
export function lastAddress(range: IpRange): bigint {
  return firstAddress(range) | ((1n << hostBits(range)) - 1n)
}

/**
 * A key for a `Map`: a text that is not numeric. V8 hashes numbers, bigints and numeric texts
 * without a secret, so an author of rules could make them collide. It also hashes only the lowest
 * 64 bits of a bigint, which many addresses share.
 */
export function keyOfBits(bits: bigint): string {
  return `x${bits.toString(16)}`
}

function network(range: IpRange, value: bigint): bigint {
  return value >> hostBits(range)
}

function hostBits(range: IpRange): bigint {
  return BigInt(FAMILY_BITS[range.family] - range.prefix)
}
