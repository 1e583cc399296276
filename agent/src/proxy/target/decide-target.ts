import { canonicalAddress, type NetworkAction } from '@palisade/policy-core'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import type { Target } from './authority.ts'
import { decideAddresses, type DecidedAddress } from './decide-addresses.ts'
import type { Resolve } from './resolver.ts'

type Decided = DecidedAddress<MachineDecision>

export type TargetDecision =
  | { readonly kind: 'permitted'; readonly addresses: readonly [Decided, ...Decided[]] }
  /** The name itself is permitted, because a parent proxy resolves it. */
  | { readonly kind: 'named'; readonly decision: MachineDecision }
  | { readonly kind: 'refused'; readonly decision: MachineDecision }
  /** The name may be resolved, but has no usable address. */
  | { readonly kind: 'unresolved'; readonly cause: unknown }

export interface DecideDeps {
  readonly decide: (request: unknown) => MachineDecision
  /** Returns all addresses of a canonical name, in any spelling; rejects without an address. */
  readonly resolve: Resolve
}

/**
 * Decides where bytes for `target` may go: first the name, then each address that it resolves
 * to. A name that no rule matches is never resolved, because the query alone would carry its labels
 * out of the machine. Other names are resolved once, so that a second answer cannot differ from the
 * decided one.
 */
export async function decideTarget(
  deps: DecideDeps,
  target: Target,
  action: NetworkAction = 'connect:tcp',
): Promise<TargetDecision> {
  const request = { action, host: target.host, port: target.port }
  const asked = deps.decide(request)
  if (asked.address_required !== true) {
    if (asked.decision === 'deny') return { kind: 'refused', decision: asked }
    const address = decidedAddress(asked)
    return address === null
      ? { kind: 'named', decision: asked }
      : { kind: 'permitted', addresses: [{ address, decision: asked }] }
  }
  let decided: readonly Decided[]
  try {
    decided = await decideAddresses(deps, request)
  } catch (cause) {
    return { kind: 'unresolved', cause }
  }
  const [first, ...others] = decided.filter(({ decision }) => decision.decision === 'allow')
  if (first !== undefined) return { kind: 'permitted', addresses: [first, ...others] }
  const [refused] = decided
  if (refused !== undefined) return { kind: 'refused', decision: refused.decision }
  return { kind: 'unresolved', cause: new Error('the name has no address') }
}

/** Null for a name. Only `decideWithParent` allows one without its address. */
function decidedAddress({ request }: MachineDecision): string | null {
  const text = request !== null && 'host' in request ? (request.address ?? request.host) : ''
  return canonicalAddress(text)
}
