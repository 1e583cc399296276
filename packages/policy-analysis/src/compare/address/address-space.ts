import type { NetworkAction } from '@palisade/policy-core'
import {
  FAMILY_BITS,
  lastAddress,
  protectedClasses,
  protectionsOf,
  type IpRange,
  type ProtectedClass,
} from '@palisade/policy-core/internal'
import { commonPort } from '../../pattern/ports.ts'
import { coversNetwork } from '../../pattern/network-language.ts'
import { formatNetworkPattern } from '../../pattern/format-pattern.ts'
import { found, type SpaceMeters } from '../meter.ts'
import type { Near, Question, Region, Side, PatternSpace } from '../pattern-space.ts'
import { indexAddresses, indexDeepAddresses, meets } from './address-index.ts'
import { carriedRange, embeddingGroups } from './embedding-bits.ts'
import { findAddress, type AddressPattern } from './find-address.ts'

/** Subject of a comparison in one direction. */
export interface Direction extends SpaceMeters {
  readonly action: NetworkAction
  readonly machines: {
    readonly from: readonly ProtectedClass[]
    readonly to: readonly ProtectedClass[]
  }
}

/** The space of IP literals. Requests for a name with an address are compared in `../pair`. */
export function createAddressSpace(
  { action, machines, meter, tidyMeter }: Direction,
  from: Side<AddressPattern>,
  to: Side<AddressPattern>,
): PatternSpace<AddressPattern> {
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

/** Indexes allows that match an address that the deny matches, including carriers of IPv4. */
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
 * Tells whether a wider allow opens all protected classes that the narrower range lies inside. The
 * last address of the narrower range is in all of them. The first may be `::`, which carries no
 * IPv4 address.
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
 * Tells whether to list a deny as an exception of the region. A deny of one IPv4 address also
 * denies the addresses that carry it beside others. Such a deny is left out when the region
 * concerns none of those addresses.
 */
function isException(
  deny: AddressPattern,
  { resource, within }: Region<AddressPattern>,
  machine: readonly ProtectedClass[],
): boolean {
  if (within !== null && deny.range.family === within.range.family)
    return smaller(deny, within) !== null
  // The deny concerns IPv6 addresses that carry an IPv4 address of the resource.
  if (resource.range.family === 4 && deny.range.family === 6)
    return commonPort(resource.port, deny.port) !== undefined
  return meetDeny(resource, deny, machine) !== null
}

/** The common part of two patterns. Ranges nest or are disjoint, so it is one of the two ranges. */
function smaller(a: AddressPattern, b: AddressPattern): AddressPattern | null {
  const port = commonPort(a.port, b.port)
  if (port === undefined || !meets(a.range, b.range)) return null
  return { ...(a.range.prefix >= b.range.prefix ? a : b), port }
}

/** Narrows the range to one half as long as the other half has no answer. */
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
