import type { Socket } from 'node:net'
import type { ProgramEnd } from '../../programs/program-end.ts'
import type { TcpEnd } from '../../programs/tcp-table.ts'

/** The IPv4 address that a socket of both families shows as IPv6. */
export function withoutMapping(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
}

/**
 * The program's end of a connection within a sandbox. `server` is the end that it connected to,
 * which differs from the agent's end where the connection was redirected.
 */
export function readSandboxEnd(
  client: Socket,
  holderPid: number,
  server: TcpEnd | undefined,
): ProgramEnd | null {
  const { remoteAddress, remotePort, localAddress, localPort } = client
  if (remoteAddress === undefined || remotePort === undefined) return null
  const accepted = { address: withoutMapping(localAddress ?? ''), port: localPort ?? 0 }
  return {
    address: withoutMapping(remoteAddress),
    port: remotePort,
    within: { pid: holderPid, connection: { server: server ?? accepted, accepted } },
  }
}
