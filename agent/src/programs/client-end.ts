import type { Socket } from 'node:net'
import type { TcpEnd } from './tcp-table.ts'

/** The program's end of a connection to this agent; null once it is closed. */
export function clientEnd({ remoteAddress, remotePort }: Socket): TcpEnd | null {
  return remoteAddress === undefined || remotePort === undefined
    ? null
    : { address: remoteAddress, port: remotePort }
}

/** The end that a URL such as `http://127.0.0.1:8421` names. */
export function endOf(url: string): TcpEnd {
  const { hostname, port } = new URL(url)
  return { address: hostname, port: Number(port) }
}
