import { decideAndTake, decideHeld, type OnceGrants } from '../../grants/access/once-grants.ts'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import type { Socket } from 'node:net'
import type { Target } from './authority.ts'
import type { Dial } from './dial.ts'
import { decideTarget, type DecideDeps, type TargetDecision } from './decide-target.ts'
import type { Slot } from '../admission/live-connections.ts'
import { ParentFault } from '../parent/parent-fault.ts'
import type { ParentProxy, ParentRequest } from '../parent/parent-proxy.ts'
import { firstResult, hasBothFamilies, interleaveFamilies } from './staggered-attempts.ts'

/** Use of a connection: for any bytes, or for one `http:` request. */
export type Purpose = 'tunnel' | 'request'

export interface OpenDeps extends DecideDeps {
  readonly dial: Dial
  /** Absent where no connection spends a grant. */
  readonly once?: OnceGrants | undefined
  /** Default `tunnel`. */
  readonly purpose?: Purpose
  /** Null or absent where every connection is dialled directly. */
  readonly parent?: Pick<ParentProxy, 'carries' | 'connect' | 'connectForRequest'> | null
}

/** Without a reason each abort would build an exception with its stack. */
const OVER = 'another attempt is over'

export type Opening =
  | {
      readonly kind: 'open'
      /** Connected, and ready for the bytes of the tunnel. */
      readonly socket: Socket
      /** The decided address; undefined where a parent proxy resolves the name. */
      readonly address: string | undefined
      readonly decision: MachineDecision
      /** Present where `socket` leads to the parent, for a request in absolute form. */
      readonly viaParent?: ParentRequest
    }
  | { readonly kind: 'refused'; readonly decision: MachineDecision }
  | { readonly kind: 'failed'; readonly reason: 'resolution_failed' | 'dial_failed' | 'cancelled' }
  /** The parent proxy opened no connection. `detail` is for people and holds no credentials. */
  | { readonly kind: 'failed'; readonly reason: 'parent_failed'; readonly detail: string }

type Opened = Extract<Opening, { kind: 'open' }>

type Reached = Pick<Opened, 'socket' | 'viaParent'>

/**
 * Opens a connection that the policy allows, directly or through the parent proxy. Permitted
 * addresses are tried in order. Where they are of both families, attempts alternate between them
 * and overlap (RFC 8305), and the first connected one wins.
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
  const { candidates, isStaggered } = listCandidates(decided)
  /** Ends all other attempts once one has won, or the parent refuses all of them alike. */
  const over = new AbortController()
  const either = candidates.length === 1 ? signal : AbortSignal.any([signal, over.signal])
  let denied: MachineDecision | null = null
  let fault: ParentFault | null = null

  /** One attempt after the other, so that overlapping ones share the grant that they spend. */
  const admit = (request: unknown): Promise<MachineDecision> => {
    const admitted = turn.then(() => decideAndTake(deps, slot, request))
    turn = admitted.catch(() => {})
    return admitted
  }
  let turn: Promise<unknown> = Promise.resolve()

  const attempt = async (address: string | undefined): Promise<Opened | null> => {
    if (either.aborted) return null
    const request = { action: 'connect:tcp', ...target, address }
    const before = await admit(request)
    if (before.decision === 'deny') {
      denied = before
      return null
    }
    if (either.aborted) return null
    const reached = await reach(deps, target, address, either)
    if (reached instanceof ParentFault && !either.aborted) {
      fault = reached
      if (!reached.isOfTarget) over.abort(OVER)
    }
    if (reached === null || reached instanceof ParentFault) return null
    const { socket } = reached
    if (either.aborted) {
      socket.destroy()
      return null
    }
    slot.guard(request, () => socket.destroy())
    const decision = decideHeld(deps, slot, request)
    if (decision.decision === 'allow') {
      over.abort(OVER)
      return { kind: 'open', ...reached, address, decision }
    }
    socket.destroy()
    denied = decision
    return null
  }

  const opened = await firstResult(
    candidates.map((address) => () => attempt(address)),
    isStaggered,
  )
  if (opened !== null) return opened
  if (signal.aborted) return { kind: 'failed', reason: 'cancelled' }
  return describeFailure(denied, fault)
}

/** The addresses to try, in order; undefined stands for the name. */
function listCandidates(decided: Extract<TargetDecision, { kind: 'permitted' | 'named' }>): {
  readonly candidates: readonly (string | undefined)[]
  readonly isStaggered: boolean
} {
  if (decided.kind === 'named') return { candidates: [undefined], isStaggered: false }
  const { addresses } = decided
  const isStaggered = hasBothFamilies(addresses)
  const ordered = isStaggered ? interleaveFamilies(addresses) : addresses
  return { candidates: ordered.map(({ address }) => address), isStaggered }
}

/** Connects the way that the target takes, and no other: a failed parent is never bypassed. */
async function reach(
  { dial, parent, purpose = 'tunnel' }: OpenDeps,
  target: Target,
  address: string | undefined,
  signal: AbortSignal,
): Promise<Reached | ParentFault | null> {
  if (parent?.carries(target, address) !== true) {
    if (address === undefined) throw new Error('only a parent proxy connects to a name')
    const socket = await dial(address, target.port, signal).catch(() => null)
    return socket === null ? null : { socket }
  }
  const host = address ?? target.host
  try {
    if (purpose === 'tunnel' || host !== target.host)
      return { socket: await parent.connect({ host, port: target.port }, signal) }
    const viaParent = await parent.connectForRequest(signal)
    return { socket: viaParent.socket, viaParent }
  } catch (error) {
    if (error instanceof ParentFault) return error
    throw error
  }
}

function describeFailure(
  denied: MachineDecision | null,
  fault: ParentFault | null,
): Exclude<Opening, { kind: 'open' }> {
  if (denied !== null) return { kind: 'refused', decision: denied }
  if (fault !== null) return { kind: 'failed', reason: 'parent_failed', detail: fault.message }
  return { kind: 'failed', reason: 'dial_failed' }
}
