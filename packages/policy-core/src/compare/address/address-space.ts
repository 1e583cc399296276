import { FAMILY_BITS } from '../../address/ip-address.ts'
import type { IpRange } from '../../address/ip-range.ts'
import {
  protectedClasses,
  protectionsOf,
  type ProtectedClass,
} from '../../address/protected-address.ts'
import { coversNetwork } from '../../language/network-language.ts'
import type { NetworkAction } from '../../policy/policy.ts'
import { commonPort } from '../free-port.ts'
import { formatNetworkPattern } from '../../pattern/format-pattern.ts'
import { found, type SpaceMeters } from '../meter.ts'
import type { Near, Question, Region, Side, Space } from '../space.ts'
import { indexAddresses, indexDeepAddresses, meets } from './address-index.ts'
import { carriedRange, embeddingGroups } from './embedding-bits.ts'
import { findAddress, type AddressPattern } from './find-address.ts'
import { lastAddress } from '../../address/ip-range.ts'

/** What a comparison in one direction is about. */
export interface Direction extends SpaceMeters {
  readonly action: NetworkAction
  readonly machines: {
    readonly from: readonly ProtectedClass[]
    readonly to: readonly ProtectedClass[]
  }
}

/** IP literals; what a name beside the address changes is judged elsewhere. */
export function createAddressSpace(
  { action, machines, meter, tidyMeter }: Direction,
  from: Side<AddressPattern>,
  to: Side<AddressPattern>,
): Space<AddressPattern> {
  const classes = protectedClasses(machines.to)
  const search = (question: Question<AddressPattern>) =>
    findAddress({ ...question, classes }, meter)
  const grants = (policy: 'from' | 'to', outer: AddressPattern, inner: AddressPattern): boolean =>
    coversNetwork(outer, inner) && isOpenedAlike(outer.range, inner.range, machines[policy])
  return {
    from,
    to,
    meter,
    tidyMeter,
    indexAllows: indexAddresses,
    indexDenies: indexDeepAddresses,
    indexDenied,
    meet: (allow, deny) => meetDeny(allow, deny, machines.to),
    overlap: (a, b) => {
      const resource = smaller(a, b)
      return resource === null ? null : { resource, within: null }
    },
    grants,
    denies: (deny, { resource, within }) =>
      coversNetwork(deny, resource) || (within !== null && coversNetwork(deny, within)),
    counts: (allow, resource) =>
      allow.range.prefix >= resource.range.prefix ||
      isOpenedAlike(allow.range, resource.range, machines.from),
    isException: (deny, region) => isException(deny, region, machines.to),
    find: (question) => {
      const { region, denied, allowed } = question
      const openers = region.within === null ? {} : { openers: allowed, allowed: [] }
      const result = findAddress({ region, denied, allowed, ...openers, classes }, meter)
      if (result.kind !== 'found') return result
      const { address, port } = result.value
      return found({ action, host: address, port, address })
    },
    tighten: (question) => {
      const holds = (resource: AddressPattern): boolean | null => {
        if (!grants('to', question.region.resource, resource)) return false
        const { kind } = search({ ...question, region: { resource, within: null } })
        return kind === 'unknown' ? null : kind === 'found'
      }
      return tighten(question, holds)
    },
    format: formatNetworkPattern,
  }
}

/** Allows that match an address that the deny matches: for IPv4 also those around carriers. */
export function indexDenied<T extends { readonly pattern: AddressPattern }>(
  items: readonly T[],
): Near<AddressPattern, T> {
  const near = indexAddresses(items)
  const groups = embeddingGroups()
  const carriers = items.flatMap((item) =>
    groups
      .filter((group) => meets(group.range, item.pattern.range))
      .flatMap((group) => group.ways.map((way) => carriedRange(group, way, item.pattern.range)))
      .map((range) => ({ item, pattern: { ...item.pattern, range } })),
  )
  const nearCarried = indexAddresses(carriers)
  return (region, meter) => {
    if (region.resource.range.family === 6) return near(region, meter)
    const carrying = nearCarried(region, meter).map(({ item }) => item)
    return [...new Set([...near(region, meter), ...carrying])]
  }
}

/**
 * Tells whether a wider allow opens what a narrower one does: all protections that the narrower
 * range lies inside. The last address has them all; the first may be `::`, which carries nothing.
 */
function isOpenedAlike(
  outer: IpRange,
  inner: IpRange,
  machine: readonly ProtectedClass[],
): boolean {
  return protectionsOf({ family: inner.family, value: lastAddress(inner) }, machine)
    .filter(({ isOpenedBy }) => isOpenedBy(inner))
    .every(({ isOpenedBy }) => isOpenedBy(outer))
}

function meetDeny(
  allow: AddressPattern,
  deny: AddressPattern,
  machine: readonly ProtectedClass[],
): Region<AddressPattern> | null {
  const port = commonPort(allow.port, deny.port)
  if (port === undefined) return null
  if (allow.range.family === 6 && deny.range.family === 4) {
    const isCarrier = embeddingGroups().some((group) => meets(group.range, allow.range))
    return isCarrier ? { resource: allow, within: deny } : null
  }
  const resource = smaller(allow, deny)
  if (resource === null || !isOpenedAlike(allow.range, resource.range, machine)) return null
  return { resource, within: null }
}

/**
 * An address that carries several IPv4 addresses is denied when one of them is; that goes without
 * saying where the others are not what the region is about.
 */
function isException(
  deny: AddressPattern,
  { resource, within }: Region<AddressPattern>,
  machine: readonly ProtectedClass[],
): boolean {
  if (within !== null && deny.range.family === within.range.family)
    return smaller(deny, within) !== null
  // Only where addresses are meant that carry one of the resource.
  if (resource.range.family === 4 && deny.range.family === 6)
    return commonPort(resource.port, deny.port) !== undefined
  return meetDeny(resource, deny, machine) !== null
}

/** Ranges nest or are apart, so what two patterns share is one of them, on the ports of both. */
function smaller(a: AddressPattern, b: AddressPattern): AddressPattern | null {
  const port = commonPort(a.port, b.port)
  if (port === undefined || !meets(a.range, b.range)) return null
  return { ...(a.range.prefix >= b.range.prefix ? a : b), port }
}

/** Goes to one half of the range as long as nothing is in the other. */
function tighten(
  { region, denied, allowed }: Question<AddressPattern>,
  holds: (resource: AddressPattern) => boolean | null,
): Region<AddressPattern> {
  if (region.within !== null || denied.length + allowed.length === 0) return region
  let { resource } = region
  for (;;) {
    const { family, base, prefix } = resource.range
    if (prefix === FAMILY_BITS[family]) break
    const half = 1n << BigInt(FAMILY_BITS[family] - prefix - 1)
    const lower = { ...resource, range: { family, base, prefix: prefix + 1 } }
    const upper = { ...resource, range: { family, base: base | half, prefix: prefix + 1 } }
    const isInLower = holds(lower)
    const isInUpper = isInLower === null ? null : holds(upper)
    if (isInUpper === null || isInLower === isInUpper) break
    resource = isInLower === true ? lower : upper
  }
  return resource === region.resource ? region : { resource, within: null }
}
