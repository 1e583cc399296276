import { createSocket, type Socket, type SocketType } from 'node:dgram'
import { once } from 'node:events'
import { isIP, isIPv6 } from 'node:net'
import type { IsOwnAddress } from '../target/proxy-loop.ts'

/** Bytes that wait in a socket for the kernel; further datagrams are dropped. */
const MAX_QUEUED_BYTES = 1_048_576

/** Binds sockets for datagrams, and knows their ports. */
export interface UdpPorts {
  /** A bound socket on any free port. Rejects with the error of the system. */
  bind(type: SocketType, address: string): Promise<Socket>
  /**
   * Whether a datagram would return to one of these sockets. Also true for an unspecified address,
   * from which no reply arrives: the kernel sends to loopback in its place.
   */
  readonly isOwnAddress: IsOwnAddress
}

export function createUdpPorts(): UdpPorts {
  const ports = new Set<number>()
  return {
    async bind(type, address) {
      const socket = createSocket({
        type,
        ipv6Only: type === 'udp6',
        // An address needs no lookup; anything else fails.
        lookup: (host, _options, answer) =>
          isIP(host) === 0
            ? answer(new Error('a name was looked up'), '', 0)
            : answer(null, host, isIP(host)),
      })
      const listening = once(socket, 'listening')
      socket.bind({ port: 0, address, exclusive: true })
      try {
        await listening
      } catch (error) {
        socket.close()
        throw error
      }
      const { port } = socket.address()
      ports.add(port)
      socket.once('close', () => ports.delete(port))
      return socket
    },
    isOwnAddress: (address, port) =>
      address === '0.0.0.0' || address === '::' || (ports.has(port) && isLoopback(address)),
  }
}

/** Sends unless too many bytes wait already: a datagram may always get lost. */
export function sendDatagram(
  socket: Socket,
  parts: readonly Buffer[],
  port: number,
  address: string,
): void {
  if (socket.getSendQueueSize() > MAX_QUEUED_BYTES) return
  // The target may be unreachable, which concerns no other one.
  socket.send(parts, port, address, () => {})
}

/** The sending sockets of one association, one for each address family in use. */
export interface Outbound {
  /** Rejects where the machine lacks the family. */
  socketFor(address: string): Promise<Socket>
  close(): void
}

export function createOutbound(
  ports: UdpPorts,
  onReply: (payload: Buffer, address: string, port: number) => void,
  onError: () => void,
): Outbound {
  const sockets = new Map<SocketType, Promise<Socket>>()
  let isClosed = false

  const open = async (type: SocketType): Promise<Socket> => {
    const socket = await ports.bind(type, type === 'udp6' ? '::' : '0.0.0.0')
    socket.on('message', (payload, { address, port }) => onReply(payload, address, port))
    socket.on('error', onError)
    return socket
  }

  return {
    socketFor(address) {
      const type = isIPv6(address) ? 'udp6' : 'udp4'
      const known = sockets.get(type)
      if (known !== undefined) return known
      if (isClosed) return Promise.reject(new Error('the association is over'))
      const opening = open(type)
      sockets.set(type, opening)
      return opening
    },
    close() {
      isClosed = true
      for (const opening of sockets.values()) opening.then(closeSocket).catch(() => {})
    },
  }
}

export function closeSocket(socket: Socket): void {
  try {
    socket.close()
  } catch {
    // Closed already.
  }
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}
