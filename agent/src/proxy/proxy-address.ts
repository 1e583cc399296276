import type { TcpEndpoint } from '../host/process-lookup/tcp-table.ts'
import type { IsOwnAddress } from './target/proxy-loop.ts'

/** Loopback only: every client that can connect acts with this user's policy. */
export const PROXY_HOST = '127.0.0.1'

/** The address of the proxy, which other parts need before it listens. */
export interface ProxyAddress {
  /** With port 0 before the start. */
  endpoint(): TcpEndpoint
  /** Whether a connection would reach the proxy; `0.0.0.0` also leads to loopback. */
  readonly isOwn: IsOwnAddress
  /** Called by the proxy once it listens. */
  setPort(port: number): void
}

export function createProxyAddress(): ProxyAddress {
  let ownPort = 0
  return {
    endpoint: () => ({ address: PROXY_HOST, port: ownPort }),
    isOwn: (address, port) => port === ownPort && (address === PROXY_HOST || address === '0.0.0.0'),
    setPort(port) {
      ownPort = port
    },
  }
}
