import { embeddedIpv4 } from './embedded-ipv4.ts'
import { parseAddress, type IpAddress } from './ip-address.ts'
import { rangeContains, rangeCovers, singleAddress, type IpRange } from './ip-range.ts'

/**
 * Addresses that reach the machine itself, its own link or its cloud's control plane. Neither an
 * allowed name that resolves to one nor `0.0.0.0/0` opens them.
 */
export interface ProtectedClass {
  readonly label: string
  readonly range: IpRange
}

function protectedClass(label: string, base: string, prefix?: number): ProtectedClass {
  const address = parseAddress(base)
  if (address === null) throw new TypeError(`not an address: ${base}`)
  const single = singleAddress(address)
  return { label, range: { ...single, prefix: prefix ?? single.prefix } }
}

const CLOUD_METADATA = 'cloud metadata'

const CLASSES: readonly ProtectedClass[] = [
  protectedClass('unspecified', '0.0.0.0', 8),
  protectedClass('unspecified', '::'),
  protectedClass('loopback', '127.0.0.0', 8),
  protectedClass('loopback', '::1'),
  protectedClass('link-local', '169.254.0.0', 16),
  protectedClass('link-local', 'fe80::', 10),
  protectedClass('multicast', '224.0.0.0', 4),
  protectedClass('multicast', 'ff00::', 8),
  protectedClass('reserved', '240.0.0.0', 4),
  protectedClass(CLOUD_METADATA, '169.254.169.254'),
  protectedClass(CLOUD_METADATA, 'fd00:ec2::254'),
  protectedClass(CLOUD_METADATA, '100.100.100.200'),
  protectedClass(CLOUD_METADATA, '168.63.129.16'),
]

/** Tells whether the address is 127.0.0.0/8 or ::1. */
export function isLoopback(address: IpAddress): boolean {
  return CLASSES.some(({ label, range }) => label === 'loopback' && rangeContains(range, address))
}

/** Tells whether the address, or an IPv4 address inside it, serves the metadata of a cloud. */
export function isCloudMetadata(address: IpAddress): boolean {
  return CLASSES.some(
    ({ label, range }) =>
      label === CLOUD_METADATA &&
      (rangeContains(range, address) ||
        embeddedIpv4(address).some((inner) => rangeContains(range, inner.address))),
  )
}

/** The classes of the machine's own addresses. */
export function machineClasses(addresses: readonly IpAddress[]): ProtectedClass[] {
  return addresses.map((address) => ({
    label: "the machine's own address",
    range: singleAddress(address),
  }))
}

/** Every class that protects addresses, with those of the machine itself. */
export function protectedClasses(machine: readonly ProtectedClass[]): readonly ProtectedClass[] {
  return [...CLASSES, ...machine]
}

/** Something about an address that an allow must name on purpose. */
export interface Protection {
  readonly label: string
  /** Tells whether a range lies inside the protected class, and so opens it. */
  readonly isOpenedBy: (range: IpRange) => boolean
}

/**
 * Every class that the address, or an IPv4 address inside it, belongs to. An allow opens the
 * address when it lies inside all of them; for an inner address that means a range of outer
 * addresses which all carry one of the class in the same place.
 */
export function protectionsOf(
  address: IpAddress,
  machine: readonly ProtectedClass[],
): readonly Protection[] {
  const classes = protectedClasses(machine)
  const direct = classes
    .filter(({ range }) => rangeContains(range, address))
    .map(({ label, range }) => ({
      label,
      isOpenedBy: (opener: IpRange) => rangeCovers(range, opener),
    }))
  const embedded = embeddedIpv4(address).flatMap((inner) =>
    classes
      .filter(({ range }) => rangeContains(range, inner.address))
      .map(({ label, range }) => ({
        label: `${label} inside an IPv6 address`,
        isOpenedBy: (opener: IpRange) =>
          opener.family === address.family &&
          opener.prefix >= inner.outerBits(range.prefix) &&
          rangeContains(opener, address),
      })),
  )
  return [...direct, ...embedded]
}
