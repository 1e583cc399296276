import type { Socket as DatagramSocket } from 'node:dgram'
import type { Socket } from 'node:net'
import type { TcpEndpoint } from '../../host/process-lookup/tcp-table.ts'
import type { Admission } from '../admission/admission.ts'
import type { Slot } from '../admission/live-connections.ts'
import type { PassDeps } from '../forward/forward-request.ts'
import { OWN_DATAGRAM_LOOP, refuseLoop } from '../target/proxy-loop.ts'
import { formatFrame, MAX_PAYLOAD_BYTES, readDatagram } from './datagram.ts'
import { closeSocket, createOutbound, sendDatagram, type UdpPorts } from './udp-sockets.ts'
import { createUdpTargets, type UdpLimits } from './udp-targets.ts'

/** Loopback only, as for the proxy itself. */
const ADDRESS = '127.0.0.1'

/**
 * `unsupported` where a parent proxy carries all connections, because it carries no datagrams, and
 * where programs have a loopback of their own.
 */
export type AssociationRefusal = 'too_many' | 'failed' | 'unsupported'

/** A program that asks to send datagrams (RFC 1928 §7). */
export interface AssociationRequest {
  readonly protocol: 'socks5_udp'
  /** Paused. The association ends with this connection, and the reverse. */
  readonly client: Socket
  /** The port that the program will send from, or 0 where it does not know yet. */
  readonly port: number
  /** Tells the program where to send its datagrams. */
  grant(end: TcpEndpoint): void
  /** Tells the program that it gets no association, and ends its connection. */
  refuse(refusal: AssociationRefusal): void
}

export interface AssociationDeps extends PassDeps {
  /**
   * Bounds the associations beside all slots of the proxy, because each takes several sockets. Null
   * where programs do not reach the loopback of the agent.
   */
  readonly associations: Admission | null
  readonly ports: UdpPorts
  readonly limits: UdpLimits
}

/**
 * Carries the datagrams of a program, each to a decided address. A denied or malformed one is
 * dropped without an answer, because UDP has no replies.
 */
export async function openAssociation(
  deps: AssociationDeps,
  request: AssociationRequest,
): Promise<void> {
  const { client } = request
  client.on('error', () => client.destroy())
  if (deps.parent !== undefined && deps.parent !== null) return request.refuse('unsupported')
  if (deps.associations === null) return request.refuse('unsupported')
  const slots = await enterBoth(deps.associations, deps.admission, client)
  if (slots === null) return request.refuse('too_many')
  const leave = (): void => slots.forEach((slot) => slot.leave())
  try {
    const relay = await deps.ports.bind('udp4', ADDRESS).catch(() => null)
    const program = deps.clientEndpoint(client)
    if (relay === null) {
      request.refuse('failed')
      leave()
    } else if (client.destroyed || client.readableEnded || program === null) {
      closeSocket(relay)
      client.destroy()
      leave()
    } else {
      request.grant({ address: ADDRESS, port: relay.address().port })
      serveAssociation(deps, request, { relay, program }, leave)
    }
  } catch (error) {
    leave()
    client.destroy()
    throw error
  }
}

async function enterBoth(
  associations: Admission,
  admission: Admission,
  client: Socket,
): Promise<readonly Slot[] | null> {
  const association = await associations.enter(client)
  if (association === null) return null
  const slot = await admission.enter(client)
  if (slot !== null) return [association, slot]
  association.leave()
  return null
}

function serveAssociation(
  deps: AssociationDeps,
  { client, protocol, port }: AssociationRequest,
  { relay, program }: { readonly relay: DatagramSocket; readonly program: TcpEndpoint },
  onEnd: () => void,
): void {
  /** 0 until the first datagram, if the program announced none. */
  let ownPort = port
  const end = (): void => void client.destroy()
  const idle = setTimeout(end, deps.idleMs)

  const outbound = createOutbound(
    deps.ports,
    (payload, address, from) => {
      if (payload.length > MAX_PAYLOAD_BYTES || !targets.noteReply(address, from, payload)) return
      idle.refresh()
      sendDatagram(relay, [formatFrame(address, from), payload], ownPort, program.address)
    },
    end,
  )
  const targets = createUdpTargets({
    ...deps,
    enter: () => deps.admission.enter(client),
    outbound,
    isOwnAddress: deps.ports.isOwnAddress,
    decide: (asked) => refuseLoop(deps.decide(asked), deps.ports.isOwnAddress, OWN_DATAGRAM_LOOP),
    tell: (decision, flow) =>
      deps.onEvent({
        point: 'proxy',
        protocol,
        decision,
        client: program,
        ...(flow === undefined ? {} : { flow }),
      }),
  })

  relay.on('error', end)
  relay.on('message', (frame, sender) => {
    if (sender.address !== program.address) return
    if (ownPort !== 0 && sender.port !== ownPort) return
    const datagram = readDatagram(frame)
    if (datagram === null) return
    ownPort = sender.port
    idle.refresh()
    targets.pass(datagram)
  })
  client.once('close', () => {
    clearTimeout(idle)
    closeSocket(relay)
    outbound.close()
    targets.endAll()
    onEnd()
  })
  // The program sends no further bytes on this connection, but its end must be seen.
  client.once('end', end).resume()
}
