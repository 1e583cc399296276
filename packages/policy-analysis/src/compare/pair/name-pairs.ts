import {
  isLocalhostName,
  isLoopback,
  lastAddress,
  protectedClasses,
  type IpRange,
} from '@palisade/policy-core/internal'
import type { Direction } from '../address/address-space.ts'
import { findAddress, type AddressPattern } from '../address/find-address.ts'
import { dropCoveredDenies } from '../drop-covered.ts'
import { found } from '../meter.ts'
import { findName, type NamePattern } from '../name/find-name.ts'
import { goneDenies } from '../candidates.ts'
import { createPartner, findPair } from './find-pair.ts'
import type { IndexedSpace, PairCandidate } from './pair-candidate.ts'

/**
 * Yields names that a deny closed in `from` and no deny closes in `to`. Together with an address
 * that `to` allows they are reachable, even if no rule allows the name.
 */
export function* namePairs(
  { action, machines, meter }: Direction,
  names: IndexedSpace<NamePattern>,
  addresses: IndexedSpace<AddressPattern>,
  portsMentioned: () => ReadonlySet<number>,
): Generator<PairCandidate<NamePattern>> {
  const gone = dropCoveredDenies(names.space, goneDenies(names.space))
  if (gone.length === 0) return
  const mentioned = portsMentioned()
  const classes = protectedClasses(machines.to)
  const allows = [...addresses.space.to.allow.values()].map(({ pattern }) => pattern)
  const partnerOf = (patterns: readonly AddressPattern[]) =>
    createPartner(patterns, mentioned, (allow, port) => {
      const region = { resource: { ...allow, port }, within: null }
      const denied = addresses.indices.toDenies(region, meter).map(({ pattern }) => pattern)
      return findAddress({ region, denied, allowed: [], classes }, meter)
    })
  const anywhere = partnerOf(allows)
  const onLoopback = partnerOf(allows.filter(({ range }) => isInLoopback(range)))

  for (const deny of gone) {
    const { pattern } = deny
    const region = { resource: pattern, within: null }
    const denied = meter.isSpent() ? [] : names.indices.toDenies(region, meter)
    const allowed = meter.isSpent() ? [] : names.indices.toAllowsDenied(region, meter)
    const outside = [...denied, ...allowed].map((each) => each.pattern)
    const partner = isLocalhostName(pattern.domain) ? onLoopback : anywhere
    const own = (port: number) => findName({ ...pattern, port }, outside, meter)
    const find = () => {
      const pair = findPair({ port: pattern.port, mentioned, own, partner })
      if (pair.kind !== 'found') return pair
      const { port } = pair.value
      const [host, { address }] = [pair.value.own.name, pair.value.partner]
      return found({ action, host, port, address })
    }
    yield { region, denied, allowed: [], causes: [deny], find }
  }
}

function isInLoopback(range: IpRange): boolean {
  const { family, base } = range
  return isLoopback({ family, value: base }) && isLoopback({ family, value: lastAddress(range) })
}
