import type { MachineDecision } from '../../decision/active-policy.ts'
import type { Socket } from 'node:net'
import type { Target } from './authority.ts'
import type { Dial } from './dial.ts'
import { decideTarget, type DecideDeps } from './decide-target.ts'
import type { Slot } from '../admission/live-connections.ts'
import { firstResult, hasBothFamilies, interleaveFamilies } from './staggered-attempts.ts'

export interface OpenDeps extends DecideDeps {
  readonly dial: Dial
}

export type Opening =
  | {
      readonly kind: 'open'
      readonly socket: Socket
      readonly address: string
      readonly decision: MachineDecision
    }
  | { readonly kind: 'refused'; readonly decision: MachineDecision }
  | { readonly kind: 'failed'; readonly reason: 'resolution_failed' | 'dial_failed' | 'cancelled' }

type Opened = Extract<Opening, { kind: 'open' }>

/**
 * Opens a connection that the policy allows, trying the permitted addresses in order. Where they
 * are of both families, attempts alternate between them and overlap (RFC 8305), and the first
 * connected one wins.
 *
 * A new policy may come into force during a dial. So each address is decided right before its dial,
 * and again once `slot` guards its socket, so that no change falls between the two.
 */
export async function openConnection(
  deps: OpenDeps,
  target: Target,
  slot: Slot,
  signal: AbortSignal,
): Promise<Opening> {
  const decided = await decideTarget(deps, target)
  if (decided.kind === 'refused') return decided
  if (decided.kind === 'unresolved') return { kind: 'failed', reason: 'resolution_failed' }
  const isStaggered = hasBothFamilies(decided.addresses)
  const candidates = isStaggered ? interleaveFamilies(decided.addresses) : decided.addresses
  /** Ends all other attempts once one has won. */
  const over = new AbortController()
  const either = candidates.length === 1 ? signal : AbortSignal.any([signal, over.signal])
  let denied: MachineDecision | null = null

  const attempt = async (address: string): Promise<Opened | null> => {
    if (either.aborted) return null
    const request = { action: 'connect:tcp', ...target, address }
    const before = deps.decide(request)
    if (before.decision === 'deny') {
      denied = before
      return null
    }
    const socket = await deps.dial(address, target.port, either).catch(() => null)
    if (socket === null) return null
    if (either.aborted) {
      socket.destroy()
      return null
    }
    slot.guard(request, () => socket.destroy())
    const decision = deps.decide(request)
    if (decision.decision === 'allow') {
      over.abort()
      return { kind: 'open', socket, address, decision }
    }
    socket.destroy()
    denied = decision
    return null
  }

  const opened = await firstResult(
    candidates.map(
      ({ address }) =>
        () =>
          attempt(address),
    ),
    isStaggered,
  )
  if (opened !== null) return opened
  if (signal.aborted) return { kind: 'failed', reason: 'cancelled' }
  return denied === null
    ? { kind: 'failed', reason: 'dial_failed' }
    : { kind: 'refused', decision: denied }
}
