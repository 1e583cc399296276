import type { Socket as DatagramSocket } from 'node:dgram'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import type { Slot } from '../admission/live-connections.ts'
import type { Target } from '../target/authority.ts'
import { decideTarget, type DecideDeps } from '../target/decide-target.ts'
import type { Outbound } from './udp-sockets.ts'

export interface FindAddressDeps extends DecideDeps {
  /** A slot for one flow of the program; null when it gets no slot. */
  readonly enter: () => Promise<Slot | null>
  readonly outbound: Outbound
}

/** An address that the policy allowed, with a slot for its flow. */
export interface FoundAddress {
  readonly kind: 'found'
  readonly address: string
  readonly socket: DatagramSocket
  readonly slot: Slot
}

/** `denial` is null where no datagram can be sent, for another reason than the policy. */
export interface NoAddress {
  readonly kind: 'denied'
  readonly denial: MachineDecision | null
}

const UNREACHABLE: NoAddress = { kind: 'denied', denial: null }

/** Decides a target, and takes the first allowed address, or `usual` if it is allowed. */
export async function findUdpAddress(
  deps: FindAddressDeps,
  target: Target,
  usual: string | undefined,
): Promise<FoundAddress | NoAddress> {
  const decided = await decideTarget(deps, target, 'connect:udp')
  if (decided.kind === 'refused') return { kind: 'denied', denial: decided.decision }
  if (decided.kind !== 'permitted') return UNREACHABLE
  const { addresses } = decided
  const { address } = addresses.find((each) => each.address === usual) ?? addresses[0]
  const socket = await deps.outbound.socketFor(address).catch(() => null)
  if (socket === null) return UNREACHABLE
  const slot = await deps.enter()
  return slot === null ? UNREACHABLE : { kind: 'found', address, socket, slot }
}
