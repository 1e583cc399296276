import type { Change } from '@palisade/policy-analysis'
import type { Action, PolicySet } from '@palisade/policy-core'
import { covers, formatAddress, type Address } from '../../policy-core/reference/address.ts'
import { embeddedAddresses } from '../../policy-core/reference/embedded-address.ts'
import {
  isOnPort,
  matchesName,
  readNetworkPattern,
} from '../../policy-core/reference/network-pattern.ts'
import { matchesPath, readPathPattern } from '../../policy-core/reference/path.ts'
import { protectedRangesOf } from '../../policy-core/reference/protected-address.ts'
import { referenceDecide } from '../../policy-core/reference/reference-decide.ts'
import { readPolicySet, type ReferenceSet } from '../../policy-core/reference/reference-rules.ts'
import type { ReferenceRequest } from '../../policy-core/reference/request.ts'

/** The policies of a change: `to` allows requests that `from` denies. */
export interface Policies {
  readonly from: ReferenceSet
  readonly to: ReferenceSet
}

/**
 * Whether a change is about the whole request, about its name or address alone, or not about it.
 */
export type Holding = 'whole' | 'half' | 'not'

/**
 * How a change is about a request, by its documentation. `whole` claims that the decision changed;
 * `half` claims it for the name or the address alone.
 */
export function holding(change: Change, request: ReferenceRequest, policies: Policies): Holding {
  if (change.action !== request.action) return 'not'
  if (change.only === 'allowed') {
    const { decision } = referenceDecide(policies.to, request.canonical)
    return decision === 'allow' && isDeniedBy(change.resource, request, policies) ? 'whole' : 'not'
  }
  if (request.kind === 'path') return holdsPath(change, request.path, policies) ? 'whole' : 'not'
  return isNamePattern(change.resource)
    ? holdingName(change, request, policies)
    : holdingAddress(change, request, policies)
}

type Connect = ReferenceRequest & { readonly kind: 'connect' }

function holdingName(change: Change, request: Connect, { to }: Policies): Holding {
  const { action, name, address, port } = request
  if (name === null || !holdsName(change, name, port)) return 'not'
  if (change.only === undefined) return address === null ? 'whole' : 'half'
  if (address === null) return 'not'
  return isAllowed(to, action, formatAddress(address), port) ? 'whole' : 'not'
}

function holdingAddress(change: Change, request: Connect, policies: Policies): Holding {
  const { action, name, address, port } = request
  if (address === null) return 'not'
  if (change.only === undefined) {
    if (!holdsAddress(change, address, port, policies)) return 'not'
    return name === null ? 'whole' : 'half'
  }
  if (name === null || !isAllowed(policies.to, action, name, port)) return 'not'
  return holdsNamedAddress(change, address, port, policies) ? 'whole' : 'not'
}

/** Whether a deny rule with this one resource would match. */
function isDeniedBy(text: string, request: ReferenceRequest, { from, to }: Policies): boolean {
  if (request.kind === 'path')
    return [from, to].some((set) => matchesPath(readPathPattern(text)!, request.path, set))
  const { name, address, port } = request
  return isNamePattern(text)
    ? name !== null && matchesName(readNetworkPattern(text)!, name, port)
    : address !== null && denies(text, address, port)
}

function isNamePattern(resource: string): boolean {
  return readNetworkPattern(resource)?.kind === 'name'
}

function isAllowed(set: ReferenceSet, action: Action, host: string, port: number): boolean {
  return referenceDecide(set, { action, host, port }).decision === 'allow'
}

function holdsPath(change: Change, path: readonly string[], { from, to }: Policies): boolean {
  // A `~` is the home of either policy. The homes differ only where a rule spells one as a path.
  const matches = (text: string) =>
    [from, to].some((meaning) => matchesPath(readPathPattern(text)!, path, meaning))
  return (
    matches(change.resource) &&
    (change.within === undefined || matches(change.within)) &&
    ![...change.except.allowed, ...change.except.denied].some(matches)
  )
}

function holdsName({ resource, except }: Change, name: string, port: number): boolean {
  const matches = (text: string) => matchesName(readNetworkPattern(text)!, name, port)
  return matches(resource) && ![...except.allowed, ...except.denied].some(matches)
}

function holdsAddress(change: Change, address: Address, port: number, policies: Policies): boolean {
  const { resource, within, except } = change
  return (
    allows(resource, change.action, address, { port, machine: policies.to.machineAddresses }) &&
    (within === undefined ||
      (denies(within, address, port) &&
        !isDeniedThroughAnother(change.action, address, port, policies))) &&
    !except.denied.some((text) => denies(text, address, port)) &&
    !except.allowed.some((text) =>
      allows(text, change.action, address, { port, machine: policies.from.machineAddresses }),
    )
  )
}

function holdsNamedAddress(
  { action, resource, except }: Change,
  address: Address,
  port: number,
  policies: Policies,
): boolean {
  return (
    denies(resource, address, port) &&
    protectedRangesOf(address, policies.to.machineAddresses).length === 0 &&
    !isDeniedThroughAnother(action, address, port, policies) &&
    !except.denied.some((text) => denies(text, address, port)) &&
    !except.allowed.some((text) =>
      allows(text, action, address, { port, machine: policies.from.machineAddresses }),
    )
  )
}

/** Whether the address embeds several others and the policy denies one of them. */
function isDeniedThroughAnother(
  action: Action,
  address: Address,
  port: number,
  { to }: Policies,
): boolean {
  if (embeddedAddresses(address).length < 2) return false
  const { decision, reason } = referenceDecide(to, { action, host: formatAddress(address), port })
  return decision === 'deny' && reason === 'rule'
}

/** Whether an allow rule with this one resource allows the address. */
function allows(
  text: string,
  action: Action,
  address: Address,
  { port, machine }: { readonly port: number; readonly machine: readonly Address[] },
): boolean {
  const rule = {
    id: 'r',
    name: 'r',
    actions: [action],
    decision: 'allow' as const,
    resources: [text],
  }
  const set: PolicySet = {
    policies: [{ id: 'p', name: 'p', allowlist_v0: { rules: [rule] } }],
    machine_addresses: machine.map(formatAddress),
  }
  return isAllowed(readPolicySet(set), action, formatAddress(address), port)
}

/** Whether a deny rule matches the address or an IPv4 address embedded in it. */
function denies(text: string, address: Address, port: number): boolean {
  const pattern = readNetworkPattern(text)
  if (pattern?.kind !== 'address' || !isOnPort(pattern, port)) return false
  return [address, ...embeddedAddresses(address).map((inner) => inner.address)].some((each) =>
    covers(pattern.range, each),
  )
}
