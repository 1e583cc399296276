import type { UdpFlow } from './udp-flow.ts'

/** The ends that the flows of one association have sent to. */
export interface PeerTable {
  /** Notes that a flow sends. Replies belong to the flow that sent last. */
  use(flow: UdpFlow): void
  forget(flow: UdpFlow): void
  /** Undefined for an end that no flow has sent to: its reply is forged. */
  find(address: string, port: number): UdpFlow | undefined
}

/** A name and an address may lead to the same end, so an end may have several flows. */
export function createPeerTable(): PeerTable {
  const flows = new Map<string, readonly UdpFlow[]>()

  return {
    use(flow) {
      const peer = formatPeer(flow.address, flow.port)
      const present = flows.get(peer) ?? []
      if (present[0] !== flow) flows.set(peer, [flow, ...without(present, flow)])
    },
    forget(flow) {
      const peer = formatPeer(flow.address, flow.port)
      const others = without(flows.get(peer) ?? [], flow)
      if (others.length === 0) flows.delete(peer)
      else flows.set(peer, others)
    },
    find: (address, port) => flows.get(formatPeer(address, port))?.[0],
  }
}

function formatPeer(address: string, port: number): string {
  return `${address} ${port}`
}

function without(flows: readonly UdpFlow[], flow: UdpFlow): readonly UdpFlow[] {
  return flows.filter((other) => other !== flow)
}
