import type { MachineDecision } from '../decision/active-policy.ts'
import type { Socket } from 'node:net'
import type { Target } from './authority.ts'
import type { Dial } from './dial.ts'
import { judgeTarget, type JudgeDeps } from './judge-target.ts'
import type { Place } from './live-connections.ts'

export interface OpenDeps extends JudgeDeps {
  readonly dial: Dial
  /** Whether a connection there would come back to this proxy. */
  readonly isSelf: (address: string, port: number) => boolean
}

export type Opening =
  | {
      readonly kind: 'open'
      readonly socket: Socket
      readonly address: string
      readonly decision: MachineDecision
    }
  | { readonly kind: 'refused'; readonly decision: MachineDecision }
  | { readonly kind: 'loop' }
  | { readonly kind: 'failed'; readonly reason: 'resolution_failed' | 'dial_failed' | 'cancelled' }

/**
 * Opens a connection to where policy allows, trying the permitted addresses in order. Dialling takes
 * time in which a new policy may come into force: the connected socket is put under the guard of
 * `place` first and decided again then, so that no change falls in between.
 */
export async function openConnection(
  deps: OpenDeps,
  target: Target,
  place: Place,
  signal: AbortSignal,
): Promise<Opening> {
  const judgement = await judgeTarget(deps, target)
  if (judgement.kind === 'refused') return judgement
  if (judgement.kind === 'unresolved') return { kind: 'failed', reason: 'resolution_failed' }
  const others = judgement.addresses.filter(({ address }) => !deps.isSelf(address, target.port))
  if (others.length === 0) return { kind: 'loop' }
  for (const { address } of others) {
    if (signal.aborted) return { kind: 'failed', reason: 'cancelled' }
    const socket = await deps.dial(address, target.port, signal).catch(() => null)
    if (socket === null) continue
    const request = { action: 'connect:tcp', ...target, address }
    place.guard(request, () => socket.destroy())
    const decision = deps.decide(request)
    if (decision.decision === 'allow') return { kind: 'open', socket, address, decision }
    socket.destroy()
    return { kind: 'refused', decision }
  }
  return { kind: 'failed', reason: signal.aborted ? 'cancelled' : 'dial_failed' }
}
