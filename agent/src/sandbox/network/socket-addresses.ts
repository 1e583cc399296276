import type { Socket } from 'node:net'
import type { ClientEndpoint } from '../../host/process-lookup/client-endpoint.ts'
import type { TcpEndpoint } from '../../host/process-lookup/tcp-table.ts'

/** The IPv4 address that a socket of both families shows as IPv6. */
export function withoutMapping(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
}

/**
 * Reads the address of a program that is connected within a sandbox. `server` is the end that it
 * connected to, which differs from the agent's end where the connection was redirected.
 */
export function readSandboxEndpoint(
  client: Socket,
  holderPid: number,
  server: TcpEndpoint | undefined,
): ClientEndpoint | null {
  const { remoteAddress, remotePort, localAddress, localPort } = client
  if (remoteAddress === undefined || remotePort === undefined) return null
  const accepted = { address: withoutMapping(localAddress ?? ''), port: localPort ?? 0 }
  return {
    address: withoutMapping(remoteAddress),
    port: remotePort,
    within: { pid: holderPid, connection: { server: server ?? accepted, accepted } },
  }
}
