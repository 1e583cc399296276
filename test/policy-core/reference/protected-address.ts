import { covers, liesInside, onlyAddress, readRange, type Address, type Range } from './address.ts'
import { embeddedAddresses, type EmbeddedAddress } from './embedded-address.ts'

const PROTECTED_RANGES = [
  // unspecified
  '0.0.0.0/8',
  '::/128',
  // loopback
  '127.0.0.0/8',
  '::1/128',
  // link-local
  '169.254.0.0/16',
  'fe80::/10',
  // multicast
  '224.0.0.0/4',
  'ff00::/8',
  // reserved; broadcast belongs to it
  '240.0.0.0/4',
  // cloud metadata
  '169.254.169.254/32',
  'fd00:ec2::254/128',
  '100.100.100.200/32',
  '168.63.129.16/32',
]

/**
 * Returns every protected range that contains `address`. An address in at least one is protected.
 */
export function protectedRangesOf(address: Address, machineAddresses: readonly Address[]): Range[] {
  const all = [
    ...PROTECTED_RANGES.map((range) => readRange(range)!),
    ...machineAddresses.map(onlyAddress),
  ]
  const inside = embeddedAddresses(address).flatMap((embedded) =>
    all
      .filter((range) => covers(range, embedded.address))
      .map((range) => ({ ...address, prefix: fixedBits(embedded, range) })),
  )
  return [...all.filter((range) => covers(range, address)), ...inside]
}

/**
 * The number of leading bits that outer addresses share when their embedded address is in `range`.
 */
function fixedBits({ bits }: EmbeddedAddress, range: Range): number {
  return Math.max(...bits.slice(0, range.prefix)) + 1
}

/** Whether an allow of `range` is narrow enough to open an address in all `protectedRanges`. */
export function opens(range: Range, protectedRanges: readonly Range[]): boolean {
  return protectedRanges.every((protectedRange) => liesInside(range, protectedRange))
}
