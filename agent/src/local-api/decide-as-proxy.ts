import type { Decision, Explanation } from '@palisade/policy-core'
import type { LocalDecision } from '@palisade/protocol'
import type { ActivePolicy, MachineDecision } from '../policy/decision/active-policy.ts'
import {
  listDecision,
  listExplanation,
  type ListedDecision,
  type ListedExplanation,
} from '../policy/decision/listed-rules.ts'
import { decideAddresses } from '../proxy/target/decide-addresses.ts'
import { explainLoop, refuseLoop, type IsOwnAddress } from '../proxy/target/proxy-loop.ts'
import type { RecordedEvent } from '../records/recorded-event.ts'
import type { Resolve } from '../proxy/target/resolver.ts'
import { createSpacedExplanations } from './spaced-explanations.ts'

/** The `decide` and `explain` of the local API. */
export function decideAsAsked(deps: {
  readonly active: Pick<ActivePolicy, 'decide' | 'explain'>
  /** Called with each decision, which counts as one given to a program. */
  readonly onEvent: (event: RecordedEvent) => void
  readonly resolve: Resolve
  readonly isOwnAddress: IsOwnAddress
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}): {
  readonly decide: (request: unknown) => Promise<ListedDecision>
  /** Decides at once, without resolving a name. */
  readonly decideUnresolved: (request: unknown) => ListedDecision
  readonly explain: (request: unknown) => Promise<ListedExplanation>
} {
  const { active, onEvent, resolve, isOwnAddress, uptime } = deps
  const decide = (request: unknown): MachineDecision =>
    refuseLoop(active.decide(request), isOwnAddress)
  const explain = createSpacedExplanations(
    (request) => explainLoop(active.explain(request), isOwnAddress),
    uptime,
  )
  return {
    async decide(request) {
      const { addresses, ...decision } = await decideAsProxy(decide, resolve, request)
      onEvent({ point: 'local_api', protocol: 'decide', decision, client: null })
      return { ...listDecision(decision), ...(addresses === undefined ? {} : { addresses }) }
    },
    decideUnresolved(request) {
      const decision = decide(request)
      onEvent({ point: 'local_api', protocol: 'decide', decision, client: null })
      return listDecision(decision)
    },
    explain: async (request) =>
      listExplanation(await explainAsProxy({ decide, explain, resolve }, request)),
  }
}

type Resolved<D> = D & Pick<LocalDecision, 'addresses'>

/**
 * Decides one request of the local API. With `resolve: true` it also decides the addresses of a
 * name, as the proxy would. It resolves a name only where the proxy would, so that a question
 * reveals no more outside the machine than a connection.
 */
export async function decideAsProxy<D extends Decision>(
  decide: (request: unknown) => D,
  resolve: Resolve,
  value: unknown,
): Promise<Resolved<D>> {
  const asked = decide(value)
  const { request, address_required } = asked
  if (address_required !== true || !asksToResolve(value)) return asked
  if (request === null || !('host' in request)) return asked
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
 * Decides likewise, with an explanation of the deciding address only. Explaining all addresses of a
 * name would take seconds with many rules, and its DNS server chooses their number.
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
