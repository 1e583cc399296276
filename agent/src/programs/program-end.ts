import type { Socket } from 'node:net'
import type { TcpEnd } from './tcp-table.ts'

/** The program's end of a connection to this agent, or of its datagrams. */
export interface ProgramEnd extends TcpEnd {
  /** Present within the network namespace of a sandbox. */
  readonly within?: Within
}

export interface Within {
  /** Id of a process in that namespace, whose tables hold the socket. */
  readonly pid: number
  /** Absent for datagrams. */
  readonly connection?: {
    /** The end that the program connected to. */
    readonly server: TcpEnd
    /** The agent's end. Differs from `server` where the connection was redirected. */
    readonly accepted: TcpEnd
  }
}

/** Returns null once the connection is closed. */
export type ReadProgramEnd = (client: Socket) => ProgramEnd | null

/** The program's end of a connection to the proxy of this machine. */
export function readProgramEnd({ remoteAddress, remotePort }: Socket): ProgramEnd | null {
  return remoteAddress === undefined || remotePort === undefined
    ? null
    : { address: remoteAddress, port: remotePort }
}

/** The end that a URL such as `http://127.0.0.1:8421` names. */
export function endOf(url: string): TcpEnd {
  const { hostname, port } = new URL(url)
  return { address: hostname, port: Number(port) }
}
