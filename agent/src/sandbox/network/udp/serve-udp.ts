import type { Socket as DatagramSocket } from 'node:dgram'
import type { EnforcementEvent } from '../../../enforcement/enforcement-event.ts'
import type { TcpEndpoint } from '../../../host/process-lookup/tcp-table.ts'
import type { LiveConnections } from '../../../proxy/admission/live-connections.ts'
import type { DecideDeps } from '../../../proxy/target/decide-target.ts'
import { OWN_DATAGRAM_LOOP, refuseLoop } from '../../../proxy/target/proxy-loop.ts'
import {
  closeSocket,
  createOutbound,
  sendDatagram,
  type UdpPorts,
} from '../../../proxy/udp/udp-sockets.ts'
import { createUdpTargets, UDP_LIMITS, type UdpLimits } from '../../../proxy/udp/udp-targets.ts'
import type { NameTable } from '../dns/name-table.ts'

/** Conversations at once. Each takes a socket of the machine, two at most. */
const MAX_CONVERSATIONS = 256

/** One conversation has one target. */
const LIMITS: UdpLimits = { ...UDP_LIMITS, targets: 1, undecided: 1 }

export interface SandboxUdpDeps extends DecideDeps {
  readonly names: NameTable
  readonly live: LiveConnections
  readonly holderPid: number
  readonly ports: UdpPorts
  readonly udpLimits?: Partial<UdpLimits>
  readonly onEvent: (event: EnforcementEvent) => void
  readonly onError: (error: unknown) => void
}

/** The datagrams between one socket of a program and one target. */
interface Conversation {
  pass(payload: Buffer): void
  close(): void
}

/**
 * Carries the datagrams that programs of a sandbox send to the ports of `sockets`, each to a
 * decided address. A denied one is dropped without an answer, because UDP has no replies. Returns a
 * way to end it.
 *
 * Every address is local within a sandbox, so a program that binds none sends from the address that
 * it sends to (RFC 1122 §3.3.4.3), and takes a reply from there. A program that binds another
 * synthetic address means the name of that one, which is decided instead.
 */
export function serveUdp(
  deps: SandboxUdpDeps,
  sockets: ReadonlyMap<number, DatagramSocket>,
): () => void {
  /** Conversations by `address port port`, in the order of their last use. */
  const conversations = new Map<string, Conversation>()

  const use = (key: string, open: () => Conversation): Conversation => {
    const conversation = conversations.get(key) ?? open()
    conversations.delete(key)
    conversations.set(key, conversation)
    const [oldest] = conversations.values()
    if (conversations.size > MAX_CONVERSATIONS) oldest?.close()
    return conversation
  }

  for (const [port, socket] of sockets) {
    // An error of one receiver concerns no other one.
    socket.on('error', () => {})
    socket.on('message', (payload, sender) => {
      const key = `${sender.address} ${sender.port} ${port}`
      const open = (): Conversation =>
        openConversation(deps, {
          program: { address: sender.address, port: sender.port },
          port,
          reply: (bytes) => sendDatagram(socket, [bytes], sender.port, sender.address),
          onClose: () => conversations.delete(key),
        })
      use(key, open).pass(payload)
    })
  }
  return () => {
    for (const conversation of conversations.values()) conversation.close()
    for (const socket of sockets.values()) closeSocket(socket)
  }
}

function openConversation(
  deps: SandboxUdpDeps,
  to: {
    /** The address is also the one that the program sends to. */
    readonly program: TcpEndpoint
    readonly port: number
    readonly reply: (payload: Buffer) => void
    readonly onClose: () => void
  },
): Conversation {
  const { names, ports } = deps
  const { address: destination } = to.program
  const client = { ...to.program, within: { pid: deps.holderPid } }
  const limits = { ...LIMITS, ...deps.udpLimits }
  const name = names.nameAt(destination)
  const release = name === null ? (): void => {} : names.hold(name)
  let isClosed = false

  const close = (): void => {
    if (isClosed) return
    isClosed = true
    clearTimeout(idle)
    to.onClose()
    outbound.close()
    targets.endAll()
    release()
  }
  const idle = setTimeout(close, limits.idleMs).unref()
  const outbound = createOutbound(
    ports,
    (payload, address, from) => {
      if (!targets.noteReply(address, from, payload)) return
      idle.refresh()
      to.reply(payload)
    },
    close,
  )
  const targets = createUdpTargets({
    ...deps,
    limits,
    outbound,
    isOwnAddress: ports.isOwnAddress,
    enter: () => Promise.resolve(deps.live.enter(null)),
    decide: (asked) => refuseLoop(deps.decide(asked), ports.isOwnAddress, OWN_DATAGRAM_LOOP),
    tell: (decision, flow) =>
      deps.onEvent({
        point: 'capture',
        protocol: 'udp',
        decision,
        client,
        ...(flow === undefined ? {} : { flow }),
      }),
  })
  return {
    pass(payload) {
      idle.refresh()
      targets.pass({ target: { host: name ?? destination, port: to.port }, payload })
    },
    close,
  }
}
