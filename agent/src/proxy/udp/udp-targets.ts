import { decideAndTake, decideHeld, type OnceGrants } from '../../grants/access/once-grants.ts'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import type { FlowEnd } from '../../enforcement/enforcement-event.ts'
import type { IsOwnAddress } from '../target/proxy-loop.ts'
import type { Datagram } from './datagram.ts'
import { findUdpAddress, type FindAddressDeps, type FoundAddress } from './find-udp-address.ts'
import { createPeerTable } from './peer-table.ts'
import { createTargetMemory, type Decided, type Undecided } from './target-memory.ts'
import { createUdpFlow, type UdpFlow } from './udp-flow.ts'

/** Bounds of one association. */
export interface UdpLimits {
  /** Known targets; the least recently used one makes room. */
  readonly targets: number
  /** Targets that are being decided; datagrams for others are dropped. */
  readonly undecided: number
  /** Bytes that wait for decisions. */
  readonly heldBytes: number
  /** A target without traffic for this long is forgotten. */
  readonly idleMs: number
  /** A target in use is resolved and decided again after this time. */
  readonly decidedMs: number
  /** So long is a denied target not decided again. */
  readonly deniedMs: number
}

/** An idle target lives as long as the mapping of a network translator must (RFC 4787 §4.3). */
export const UDP_LIMITS: UdpLimits = {
  targets: 256,
  undecided: 32,
  heldBytes: 131_072,
  idleMs: 120_000,
  decidedMs: 600_000,
  deniedMs: 5_000,
}

export interface TargetsDeps extends FindAddressDeps {
  readonly isOwnAddress: IsOwnAddress
  readonly limits: UdpLimits
  /** Absent where no conversation spends a grant. */
  readonly once?: OnceGrants | undefined
  /** Called for each decided target, and with `flow` at the end of an allowed one. */
  readonly tell: (decision: MachineDecision, flow?: FlowEnd) => void
  readonly onError: (error: unknown) => void
}

/** The targets of one association. Each is decided when its first datagram arrives. */
export interface UdpTargets {
  /** Sends a datagram to its decided address, at once or after the decision, or drops it. */
  pass(datagram: Datagram): void
  /** Whether this end was sent to; a reply from any other is forged. */
  noteReply(address: string, port: number, payload: Buffer): boolean
  endAll(): void
}

export function createUdpTargets(deps: TargetsDeps): UdpTargets {
  const { limits, tell } = deps
  const known = createTargetMemory(limits.targets)
  const peers = createPeerTable()
  const room = createRoom(limits.heldBytes)
  let undecided = 0

  const send = (flow: UdpFlow, payload: Buffer): void => {
    // A port may have become one of the proxy after the decision.
    if (deps.isOwnAddress(flow.address, flow.port)) return
    peers.use(flow)
    flow.send(payload)
  }

  const close = (key: string, denial: MachineDecision | null): void =>
    known.set(key, { kind: 'closed', denial, untilMs: performance.now() + limits.deniedMs })

  const deny = (key: string, { former }: Undecided, denial: MachineDecision | null): void => {
    close(key, denial)
    const told = former?.kind === 'closed' ? former.denial : null
    if (denial !== null && !isSameDenial(denial, told)) tell(denial)
  }

  const open = (
    key: string,
    { target }: Undecided,
    { address, socket, slot }: FoundAddress,
    decision: MachineDecision,
  ): UdpFlow => {
    let final = decision
    const flow = createUdpFlow({
      address,
      port: target.port,
      socket,
      slot,
      idleMs: limits.idleMs,
      onEnd(end) {
        if (known.hasFlow(key, flow)) known.delete(key)
        if (end.cause === 'revoked') close(key, final)
        peers.forget(flow)
        tell(final, end)
      },
    })
    slot.guard({ action: 'connect:udp', ...target, address }, (denial) => {
      if (denial !== null) final = denial
      flow.end(denial === null ? 'closed' : 'revoked')
    })
    known.set(key, { kind: 'open', flow, untilMs: performance.now() + limits.decidedMs })
    tell(decision)
    return flow
  }

  const settle = async (key: string, waiting: Undecided): Promise<void> => {
    const { target, former } = waiting
    // A name with changing addresses must not break a conversation that is still allowed.
    const usual = former?.kind === 'open' ? former.flow.address : undefined
    const found = await findUdpAddress(deps, target, usual)
    if (found.kind === 'denied') {
      if (known.has(key, waiting)) deny(key, waiting, found.denial)
      return
    }
    const request = { action: 'connect:udp', ...target, address: found.address }
    await decideAndTake(deps, found.slot, request)
    // No policy change can fall between this decision and the guard of the flow.
    const decision = decideHeld(deps, found.slot, request)
    if (decision.decision === 'allow' && known.has(key, waiting)) {
      const flow = open(key, waiting, found, decision)
      for (const payload of waiting.held) send(flow, payload)
      return
    }
    found.slot.leave()
    if (known.has(key, waiting)) deny(key, waiting, decision)
  }

  const begin = (key: string, { target, payload }: Datagram, former: Decided | undefined): void => {
    if (undecided >= limits.undecided) return
    if (former?.kind === 'open') former.flow.end('closed')
    const waiting: Undecided = { kind: 'undecided', target, held: [], former }
    room.hold(waiting, payload)
    known.set(key, waiting)
    undecided += 1
    settle(key, waiting)
      .catch((error: unknown) => {
        if (known.has(key, waiting)) known.delete(key)
        deps.onError(error)
      })
      .finally(() => {
        undecided -= 1
        room.release(waiting)
      })
  }

  return {
    pass(datagram) {
      const { target, payload } = datagram
      const key = `${target.host} ${target.port}`
      const present = known.get(key)
      if (present?.kind === 'undecided') return room.hold(present, payload)
      if (present === undefined || present.untilMs <= performance.now())
        return begin(key, datagram, present)
      if (present.kind === 'open') send(present.flow, payload)
    },
    noteReply(address, port, payload) {
      const flow = peers.find(address, port)
      flow?.noteReply(payload)
      return flow !== undefined
    },
    endAll: () => known.clear(),
  }
}

/** Bounds the datagrams that wait for decisions. */
function createRoom(maxBytes: number): {
  hold(target: Undecided, payload: Buffer): void
  release(target: Undecided): void
} {
  /** One without payload takes memory too. */
  const sizeOf = (payload: Buffer): number => payload.length + 64
  let bytes = 0
  return {
    hold({ held }, payload) {
      if (bytes + sizeOf(payload) > maxBytes) return
      bytes += sizeOf(payload)
      held.push(payload)
    },
    release({ held }) {
      for (const payload of held) bytes -= sizeOf(payload)
    },
  }
}

function isSameDenial(a: MachineDecision, b: MachineDecision | null): boolean {
  return a.reason === b?.reason && a.revision === b.revision
}
