import { canonicalAddress } from '@palisade/policy-core'
import type { MachineDecision } from '../decision/active-policy.ts'
import type { Target } from './authority.ts'

/** More addresses than this of one name are not looked at. */
const MAX_ADDRESSES = 16

export interface Permitted {
  readonly address: string
  readonly decision: MachineDecision
}

export type Judgement =
  | { readonly kind: 'permitted'; readonly addresses: readonly [Permitted, ...Permitted[]] }
  | { readonly kind: 'refused'; readonly decision: MachineDecision }
  /** The name may be resolved, but has no usable address. */
  | { readonly kind: 'unresolved'; readonly cause: unknown }

export interface JudgeDeps {
  readonly decide: (request: unknown) => MachineDecision
  /** All addresses of a canonical name, in any spelling; rejects when there are none. */
  readonly resolve: (name: string) => Promise<readonly string[]>
}

/**
 * Decides where a connection to `target` may go: the name first, then every address that it
 * resolves to. A name that no rule speaks for is never resolved, for the query alone would carry
 * its labels out of the machine; one that is resolved is resolved once, so that a second answer
 * cannot differ from the one that was judged.
 */
export async function judgeTarget(deps: JudgeDeps, target: Target): Promise<Judgement> {
  const request = { action: 'connect:tcp', host: target.host, port: target.port }
  const asked = deps.decide(request)
  if (asked.address_required !== true) {
    if (asked.decision === 'deny') return { kind: 'refused', decision: asked }
    return { kind: 'permitted', addresses: [{ address: judgedAddress(asked), decision: asked }] }
  }
  let found: readonly string[]
  try {
    found = await deps.resolve(target.host)
  } catch (cause) {
    return { kind: 'unresolved', cause }
  }
  const judged = canonicalize(found).map((address) => ({
    address,
    decision: deps.decide({ ...request, address }),
  }))
  const [first, ...others] = judged.filter(({ decision }) => decision.decision === 'allow')
  if (first !== undefined) return { kind: 'permitted', addresses: [first, ...others] }
  const [refused] = judged
  if (refused !== undefined) return { kind: 'refused', decision: refused.decision }
  return { kind: 'unresolved', cause: new Error('the name has no address') }
}

function judgedAddress({ request }: MachineDecision): string {
  const text = request !== null && 'host' in request ? (request.address ?? request.host) : ''
  const address = canonicalAddress(text)
  if (address === null) throw new Error('an allowed request without an address needs no address')
  return address
}

function canonicalize(found: readonly string[]): readonly string[] {
  const addresses = found.map(canonicalAddress).filter((address) => address !== null)
  return [...new Set(addresses)].slice(0, MAX_ADDRESSES)
}
