import type { MachineDecision } from '../../decision/active-policy.ts'
import type { Socket } from 'node:net'
import type { Target } from './authority.ts'
import type { Dial } from './dial.ts'
import { decideTarget, type DecideDeps } from './decide-target.ts'
import type { Slot } from '../admission/live-connections.ts'

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

/**
 * Opens a connection that the policy allows, trying the permitted addresses in order. A new policy
 * may come into force during a dial. So each address is decided right before its dial, and again
 * once `slot` guards its socket, so that no change falls between the two.
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
  let denied: MachineDecision | null = null
  for (const { address } of decided.addresses) {
    if (signal.aborted) return { kind: 'failed', reason: 'cancelled' }
    const request = { action: 'connect:tcp', ...target, address }
    const before = deps.decide(request)
    if (before.decision === 'deny') {
      denied = before
      continue
    }
    const socket = await deps.dial(address, target.port, signal).catch(() => null)
    if (socket === null) continue
    slot.guard(request, () => socket.destroy())
    const decision = deps.decide(request)
    if (decision.decision === 'allow') return { kind: 'open', socket, address, decision }
    socket.destroy()
    denied = decision
  }
  if (signal.aborted) return { kind: 'failed', reason: 'cancelled' }
  return denied === null
    ? { kind: 'failed', reason: 'dial_failed' }
    : { kind: 'refused', decision: denied }
}
