import type { ProtectedClass } from '../address/protected-address.ts'
import { FILESYSTEM_ACTIONS, NETWORK_ACTIONS, type NetworkAction } from '../policy/policy.ts'
import { createAddressSpace, type Direction } from './address/address-space.ts'
import { goneMachineAddresses, machineSuspects } from './address/machine-suspects.ts'
import type { AddressPattern } from './address/find-address.ts'
import { createInquiry, type Inquiry } from './inquiry.ts'
import type { ListedPatterns } from './listed-patterns.ts'
import { answerMeters, tidyMeters, type Meters } from './meter.ts'
import { createNameSpace } from './name/name-space.ts'
import { addressPairs } from './pair/address-pairs.ts'
import { portsIn } from './pair/find-pair.ts'
import { namePairs } from './pair/name-pairs.ts'
import { createPathSpace } from './path/path-space.ts'
import type { Listed, Side, Space } from './space.ts'
import { findSuspects, indexSpace, type Crowd, type Suspect } from './suspects.ts'

/** One of the two policies, reduced to the parts that affect decisions. */
export interface ListedPolicy {
  readonly patterns: ListedPatterns
  readonly machine: readonly ProtectedClass[]
}

/** All inquiries needed to find the requests that `to` allows and `from` denies. */
export function createInquiries(
  from: ListedPolicy,
  to: ListedPolicy,
  meters: Meters,
): readonly Inquiry[] {
  return [
    ...NETWORK_ACTIONS.flatMap((action) => networkInquiries(action, from, to, meters)),
    ...FILESYSTEM_ACTIONS.map((action) => {
      const sides = [from.patterns.paths[action], to.patterns.paths[action]] as const
      const space = createPathSpace(action, ...sides, answerMeters(meters))
      const tidySpace = createPathSpace(action, ...sides, tidyMeters(meters))
      const indices = indexSpace(space)
      const suspects = () => findSuspects(space, indices)
      return createInquiry({ action, space, tidySpace, indices, suspects })
    }),
  ]
}

function networkInquiries(
  action: NetworkAction,
  from: ListedPolicy,
  to: ListedPolicy,
  meters: Meters,
): readonly Inquiry[] {
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
    createInquiry({
      action,
      ...names,
      tidySpace: createNameSpace(action, ...nameSides, tidying),
      suspects: () => findSuspects(nameSpace, names.indices),
      pairs: () => namePairs(direction, names, addresses, mentioned),
      partner: 'with_allowed_address',
    }),
    createInquiry({
      action,
      ...addresses,
      tidySpace: createAddressSpace(tidying, ...addressSides),
      *suspects(): Generator<Suspect<AddressPattern> | Crowd<AddressPattern>> {
        yield* findSuspects(addressSpace, addresses.indices)
        yield* machineSuspects(addressSpace, addresses.indices, goneMachineAddresses(machines))
      },
      pairs: () => addressPairs(direction, names, addresses, mentioned),
      partner: 'with_allowed_name',
    }),
  ]
}

function* patternsOf<P>({ from, to }: Space<P>): Generator<P> {
  for (const side of [from, to]) yield* patternsOfSide(side)
}

function* patternsOfSide<P>({ allow, deny }: Side<P>): Generator<P> {
  for (const list of [allow, deny])
    for (const { pattern } of list.values() as Iterable<Listed<P>>) yield pattern
}
