import { FILESYSTEM_ACTIONS, NETWORK_ACTIONS, type NetworkAction } from '@palisade/policy-core'
import type { ProtectedClass } from '@palisade/policy-core/internal'
import { createAddressSpace, type Direction } from './address/address-space.ts'
import { goneMachineAddresses, machineCandidates } from './address/machine-candidates.ts'
import type { AddressPattern } from './address/find-address.ts'
import { createSearch, type Search } from './search.ts'
import type { ListedPatterns } from './listed-patterns.ts'
import { answerMeters, tidyMeters, type Meters } from './meter.ts'
import { createNameSpace } from './name/name-space.ts'
import { addressPairs } from './pair/address-pairs.ts'
import { portsIn } from './pair/find-pair.ts'
import { namePairs } from './pair/name-pairs.ts'
import { createPathSpace } from './path/path-space.ts'
import type { Listed, Side, PatternSpace } from './pattern-space.ts'
import { findCandidates, indexSpace, type CandidateGroup, type Candidate } from './candidates.ts'

/** One of the two policies, reduced to the parts that affect decisions. */
export interface ListedPolicy {
  readonly patterns: ListedPatterns
  readonly machine: readonly ProtectedClass[]
}

/** All searches needed to find the requests that `to` allows and `from` denies. */
export function createSearches(
  from: ListedPolicy,
  to: ListedPolicy,
  meters: Meters,
): readonly Search[] {
  return [
    ...NETWORK_ACTIONS.flatMap((action) => networkSearches(action, from, to, meters)),
    ...FILESYSTEM_ACTIONS.map((action) => {
      const sides = [from.patterns.paths[action], to.patterns.paths[action]] as const
      const space = createPathSpace(action, ...sides, answerMeters(meters))
      const tidySpace = createPathSpace(action, ...sides, tidyMeters(meters))
      const indices = indexSpace(space)
      const candidates = () => findCandidates(space, indices)
      return createSearch({ action, space, tidySpace, indices, candidates })
    }),
  ]
}

function networkSearches(
  action: NetworkAction,
  from: ListedPolicy,
  to: ListedPolicy,
  meters: Meters,
): readonly Search[] {
  const machines = { from: from.machine, to: to.machine }
  const direction: Direction = { action, machines, ...answerMeters(meters) }
  const tidying: Direction = { action, machines, ...tidyMeters(meters) }
  const nameSides = [from.patterns.names[action], to.patterns.names[action]] as const
  const addressSides = [from.patterns.addresses[action], to.patterns.addresses[action]] as const
  const nameSpace = createNameSpace(action, ...nameSides, direction)
  const addressSpace = createAddressSpace(direction, ...addressSides)
  const names = { space: nameSpace, indices: indexSpace(nameSpace) }
  const addresses = { space: addressSpace, indices: indexSpace(addressSpace) }
  const mentioned = () => portsIn([...patternsOf(nameSpace), ...patternsOf(addressSpace)])
  return [
    createSearch({
      action,
      ...names,
      tidySpace: createNameSpace(action, ...nameSides, tidying),
      candidates: () => findCandidates(nameSpace, names.indices),
      pairs: () => namePairs(direction, names, addresses, mentioned),
      partner: 'with_allowed_address',
    }),
    createSearch({
      action,
      ...addresses,
      tidySpace: createAddressSpace(tidying, ...addressSides),
      *candidates(): Generator<Candidate<AddressPattern> | CandidateGroup<AddressPattern>> {
        yield* findCandidates(addressSpace, addresses.indices)
        yield* machineCandidates(addressSpace, addresses.indices, goneMachineAddresses(machines))
      },
      pairs: () => addressPairs(direction, names, addresses, mentioned),
      partner: 'with_allowed_name',
    }),
  ]
}

function* patternsOf<P>({ from, to }: PatternSpace<P>): Generator<P> {
  for (const side of [from, to]) yield* patternsOfSide(side)
}

function* patternsOfSide<P>({ allow, deny }: Side<P>): Generator<P> {
  for (const list of [allow, deny])
    for (const { pattern } of list.values() as Iterable<Listed<P>>) yield pattern
}
