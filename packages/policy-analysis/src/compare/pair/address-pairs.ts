import { protectedClasses, type IpRange } from '@palisade/policy-core/internal'
import { indexDenied, type Direction } from '../address/address-space.ts'
import { findAddress, type AddressAndPort, type AddressPattern } from '../address/find-address.ts'
import { goneMachineAddresses, openersOf } from '../address/machine-candidates.ts'
import { dropCoveredDenies } from '../drop-covered.ts'
import { firstFound, found, UNKNOWN, type SearchResult } from '../meter.ts'
import { findName, type NamePattern } from '../name/find-name.ts'
import type { Listed, Region } from '../pattern-space.ts'
import { goneDenies } from '../candidates.ts'
import { createPartner, findPair } from './find-pair.ts'
import type { IndexedSpace, PairCandidate } from './pair-candidate.ts'

const EVERY_IPV4: IpRange = { family: 4, base: 0n, prefix: 0 }
const EVERY_IPV6: IpRange = { family: 6, base: 0n, prefix: 0 }

/**
 * Yields addresses that were closed in `from`, by a deny or as the machine's own, and are open in
 * `to`. Together with a name that `to` allows they are reachable, even if no rule allows them.
 */
export function* addressPairs(
  direction: Direction,
  names: IndexedSpace<NamePattern>,
  addresses: IndexedSpace<AddressPattern>,
  portsMentioned: () => ReadonlySet<number>,
): Generator<PairCandidate<AddressPattern>> {
  const { action, meter } = direction
  const all = goneOrOwned(direction, addresses)
  if (all.length === 0) return
  const mentioned = portsMentioned()
  const partner = createPartner(
    [...names.space.to.allow.values()].map(({ pattern }) => pattern),
    mentioned,
    (allow, port) => {
      const resource = { ...allow, port }
      const denied = names.indices.toDenies({ resource, within: null }, meter)
      return findName(
        resource,
        denied.map(({ pattern }) => pattern),
        meter,
      )
    },
  )
  // An IPv6 address that carries an IPv4 address of the removed deny may be denied itself.
  const around = indexDenied(
    [...addresses.space.to.deny.values()].filter(({ pattern }) => pattern.range.family === 6),
  )
  const deniedAround = (region: Region<AddressPattern>) =>
    region.resource.range.family === 4
      ? [...addresses.indices.toDenies(region, meter), ...around(region, meter)]
      : addresses.indices.toDenies(region, meter)
  for (const { gone, openers } of all) {
    const { port } = gone.pattern
    const closed = { gone: gone.pattern, openers: openers.map(({ pattern }) => pattern) }
    const own = (here: number) => findOpened(direction, addresses, closed, here)
    const find = () => {
      const pair = findPair({ port, mentioned, own, partner })
      if (pair.kind !== 'found') return pair
      const [{ address }, host] = [pair.value.own, pair.value.partner.name]
      return found({ action, host, port: pair.value.port, address })
    }
    const region = { resource: gone.pattern, within: null }
    const denied = meter.isSpent() ? [] : deniedAround(region)
    yield { region, denied, allowed: openers, causes: [gone], find }
  }
}

interface Gone {
  readonly gone: Listed<AddressPattern>
  /** Allows that opened the address of the machine. */
  readonly openers: readonly Listed<AddressPattern>[]
}

function goneOrOwned(
  { machines }: Pick<Direction, 'machines'>,
  { space }: IndexedSpace<AddressPattern>,
): readonly Gone[] {
  const denies = dropCoveredDenies(space, goneDenies(space)).map((gone) => ({ gone, openers: [] }))
  const owned = goneMachineAddresses(machines)
  if (owned.length === 0) return denies
  const allows = indexDenied([...space.from.allow.values()])
  const openers = owned.map((gone) => ({
    gone,
    openers: openersOf(gone, allows({ resource: gone.pattern, within: null }, space.meter)),
  }))
  return [...denies, ...openers]
}

interface Closed {
  readonly gone: AddressPattern
  readonly openers: readonly AddressPattern[]
}

/**
 * Finds an address on the port that only `gone` had closed and that no rule allows by itself. For
 * an IPv4 deny it tries IPv4 addresses first, then the IPv6 addresses that carry one.
 */
function findOpened(
  { machines, meter }: Direction,
  { indices }: IndexedSpace<AddressPattern>,
  { gone, openers }: Closed,
  port: number,
): SearchResult<AddressAndPort> {
  const classes = protectedClasses(machines.to)
  const families = gone.range.family === 4 ? [EVERY_IPV4, EVERY_IPV6] : [EVERY_IPV6]
  return firstFound(families, (range) => {
    if (meter.isSpent()) return UNKNOWN
    const resource: AddressPattern = { kind: 'range', range, port }
    const own = { resource: range.family === gone.range.family ? gone : resource, within: null }
    const denied = indices.toDenies(own, meter).map(({ pattern }) => pattern)
    const allowed = indices.toAllows(own, meter).map(({ pattern }) => pattern)
    return findAddress(
      { region: { resource, within: gone }, denied, allowed, openers, classes },
      meter,
    )
  })
}
