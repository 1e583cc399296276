import {
  embeddedIpv4,
  FAMILY_BITS,
  firstAddress,
  formatAddress,
  lastAddress,
  type IpRange,
  type ProtectedClass,
} from '@palisade/policy-core/internal'
import type { Listed, PatternSpace } from '../pattern-space.ts'
import { closedRegions, type Indices, type Candidate } from '../candidates.ts'
import type { AddressPattern } from './find-address.ts'

/** The addresses that belong to the machine of `from` and not to that of `to`, as patterns. */
export function goneMachineAddresses(machines: {
  readonly from: readonly ProtectedClass[]
  readonly to: readonly ProtectedClass[]
}): readonly Listed<AddressPattern>[] {
  const keyOf = ({ range }: ProtectedClass): string =>
    formatAddress({ family: range.family, value: firstAddress(range) })
  const kept = new Set(machines.to.map(keyOf))
  const gone = new Map(machines.from.map((own) => [keyOf(own), own.range]))
  return [...gone]
    .filter(([key]) => !kept.has(key))
    .map(([key, range]) => ({
      key,
      pattern: { kind: 'range', range, port: null },
      causes: [],
    }))
}

/** Regions in which an address that is no longer protected may have become reachable. */
export function* machineCandidates(
  space: PatternSpace<AddressPattern>,
  indices: Indices<AddressPattern>,
  gone: readonly Listed<AddressPattern>[],
): Generator<Candidate<AddressPattern>> {
  for (const own of gone) {
    for (const region of closedRegions(space, indices, own)) {
      const allowed = openersOf(own, indices.fromAllows(region, space.meter))
      yield { region, denied: indices.toDenies(region, space.meter), allowed, causes: [] }
    }
    if (space.meter.isSpent())
      yield { region: { resource: own.pattern, within: null }, denied: [], allowed: [], causes: [] }
  }
}

/** The allows that opened the machine's own address, or addresses that carry it. */
export function openersOf(
  { pattern }: Pick<Listed<AddressPattern>, 'pattern'>,
  allows: readonly Listed<AddressPattern>[],
): readonly Listed<AddressPattern>[] {
  return allows.filter((allow) => isOpener(allow.pattern.range, pattern.range))
}

function isOpener(range: IpRange, own: IpRange): boolean {
  if (range.family === own.family)
    return range.prefix === FAMILY_BITS[range.family] && range.base === own.base
  const last = { family: range.family, value: lastAddress(range) }
  return embeddedIpv4(last).some(
    ({ address, outerBits }) => address.value === own.base && range.prefix >= outerBits(32),
  )
}
