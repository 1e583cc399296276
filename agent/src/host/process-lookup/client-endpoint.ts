import type { Socket } from 'node:net'
import type { TcpEndpoint } from './tcp-table.ts'

/** The address of a program in a connection to this agent, or in its datagrams. */
export interface ClientEndpoint extends TcpEndpoint {
  /** Present within the network namespace of a sandbox. */
  readonly within?: Within
}

export interface Within {
  /** Id of a process in that namespace, whose tables hold the socket. */
  readonly pid: number
  /** Absent for datagrams. */
  readonly connection?: {
    /** The end that the program connected to. */
    readonly server: TcpEndpoint
    /** The agent's end. Differs from `server` where the connection was redirected. */
    readonly accepted: TcpEndpoint
  }
}

/** Returns null once the connection is closed. */
export type ReadClientEndpoint = (client: Socket) => ClientEndpoint | null

/** Reads the address of a program that is connected to the proxy of this machine. */
export function readClientEndpoint({ remoteAddress, remotePort }: Socket): ClientEndpoint | null {
  return remoteAddress === undefined || remotePort === undefined
    ? null
    : { address: remoteAddress, port: remotePort }
}
