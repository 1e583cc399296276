import type { Decision, Explanation } from '@palisade/policy-core'
import type { LocalDecision } from '@palisade/protocol'
import type { ActivePolicy } from '../decision/active-policy.ts'
import {
  listDecision,
  listExplanation,
  type ListedDecision,
  type ListedExplanation,
} from '../decision/listed-rules.ts'
import type { DecisionTally } from '../decision/decision-tally.ts'
import { decideAddresses } from './decide-addresses.ts'
import { explainLoop, refuseLoop, type IsSelf } from './refuse-loop.ts'
import type { Resolve } from './resolver.ts'
import { createSpacedExplanations } from './spaced-explanations.ts'

/** The answers of the local API; a decision counts as one that a program was given. */
export function decideAsAsked(deps: {
  readonly active: Pick<ActivePolicy, 'decide' | 'explain'>
  readonly tally: Pick<DecisionTally, 'add'>
  readonly resolve: Resolve
  readonly isSelf: IsSelf
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}): {
  readonly decide: (request: unknown) => Promise<ListedDecision>
  readonly explain: (request: unknown) => Promise<ListedExplanation>
} {
  const { active, tally, resolve, isSelf, uptime } = deps
  const decide = (request: unknown): Decision => refuseLoop(active.decide(request), isSelf)
  const explain = createSpacedExplanations(
    (request) => explainLoop(active.explain(request), isSelf),
    uptime,
  )
  return {
    async decide(request) {
      const decision = await decideAsProxy(decide, resolve, request)
      tally.add(decision)
      return listDecision(decision)
    },
    explain: async (request) =>
      listExplanation(await explainAsProxy({ decide, explain, resolve }, request)),
  }
}

type Resolved<D> = D & Pick<LocalDecision, 'addresses'>

/**
 * Decides one request of the local API. With `resolve: true` beside it, as the proxy would: the
 * addresses of a name are decided, too. A name is resolved only where the proxy would resolve it,
 * so that asking here carries no more out of the machine than connecting does.
 */
export async function decideAsProxy<D extends Decision>(
  decide: (request: unknown) => D,
  resolve: Resolve,
  value: unknown,
): Promise<Resolved<D>> {
  const asked = decide(value)
  const { request, address_required } = asked
  if (address_required !== true || !asksToResolve(value)) return asked
  // The proxy speaks TCP alone.
  if (request?.action !== 'connect:tcp') return asked
  const decided = await decideAddresses(
    { decide, resolve },
    { action: request.action, host: request.host, port: request.port },
  ).catch(() => [])
  const deciding = decided.find(({ decision }) => decision.decision === 'allow') ?? decided[0]
  return {
    ...(deciding?.decision ?? asked),
    addresses: decided.map(({ address, decision: { decision, reason } }) => ({
      address,
      decision,
      reason,
    })),
  }
}

/**
 * The same with an explanation. Only the deciding address is explained: to explain all that a name
 * has would take seconds where there are many rules, and the name's DNS server chooses how many it
 * has.
 */
export async function explainAsProxy<E extends Explanation>(
  deps: {
    readonly decide: (request: unknown) => Decision
    readonly explain: (request: unknown) => Promise<E>
    readonly resolve: Resolve
  },
  value: unknown,
): Promise<Resolved<E>> {
  const { request, addresses } = await decideAsProxy(deps.decide, deps.resolve, value)
  if (addresses === undefined) return deps.explain(value)
  return { ...(await deps.explain(request)), addresses }
}

function asksToResolve(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'resolve' in value && value.resolve === true
}
