import { formatEndpoint, readRows, type TcpEndpoint, type TcpSocket } from './tcp-table.ts'

/** Addresses of a socket that sends from any one of the machine. */
const ANY = ['0.0.0.0', '::'] as const

/**
 * Reads the kernel's tables of UDP. A datagram shows the address that its socket sends from, but
 * the socket itself may be bound to any address.
 */
export function readUdpTables(tables: readonly string[]): (from: TcpEndpoint) => TcpSocket | null {
  const sockets = new Map<string, TcpSocket>()
  for (const { from, socket } of readRows(tables, '')) sockets.set(from, socket)
  return ({ address, port }) => {
    for (const each of [address, ...ANY]) {
      const socket = sockets.get(formatEndpoint({ address: each, port }))
      if (socket !== undefined) return socket
    }
    return null
  }
}
