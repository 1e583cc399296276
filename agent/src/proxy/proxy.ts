import { once } from 'node:events'
import { AgentError, systemErrorCode } from '../host/errors.ts'
import type { EnforcementPoint } from '../enforcement/enforcement-point.ts'
import { readClientEndpoint } from '../host/process-lookup/client-endpoint.ts'
import { createFindOwners } from '../host/process-lookup/socket-owners.ts'
import { createProgramServer, type ProgramServerDeps } from './program-server.ts'
import type { IsOwnAddress } from './target/proxy-loop.ts'

/** Loopback only: every client that can connect acts with this user's policy. */
const ADDRESS = '127.0.0.1'

export interface ProxyDeps extends Omit<
  ProgramServerDeps,
  'findOwners' | 'isOwnAddress' | 'clientEndpoint' | 'sharesLoopback'
> {
  /** 0 for any free one. */
  readonly port: number
}

/**
 * The proxy of this machine. One port speaks HTTP for absolute-form `http:` requests, CONNECT and
 * SOCKS5. `start` throws `ERR_PROXY_PORT`. `describe` returns `http://127.0.0.1:PORT`, with port 0
 * before the start.
 */
export interface Proxy extends EnforcementPoint {
  readonly isOwnAddress: IsOwnAddress
}

export function createProxy(deps: ProxyDeps): Proxy {
  let ownPort = 0
  const isOwnAddress: IsOwnAddress = (address, port) => isOwn(address, port, ownPort)
  const { server, closeAll } = createProgramServer({
    ...deps,
    isOwnAddress,
    sharesLoopback: true,
    clientEndpoint: readClientEndpoint,
    findOwners: createFindOwners(() => ({ address: ADDRESS, port: ownPort })),
  })

  return {
    name: 'proxy',
    async start() {
      server.listen(deps.port, ADDRESS)
      try {
        await once(server, 'listening')
      } catch (error) {
        throw new AgentError(
          'ERR_PROXY_PORT',
          [describePortError(deps.port, systemErrorCode(error))],
          error,
        )
      }
      const bound = server.address()
      ownPort = typeof bound === 'object' && bound !== null ? bound.port : 0
    },
    describe: () => `http://${ADDRESS}:${ownPort}`,
    isOwnAddress,
    async stop() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      closeAll()
      await closed
    },
  }
}

/** Whether a connection would reach this proxy; `0.0.0.0` also leads to loopback. */
function isOwn(address: string, port: number, ownPort: number): boolean {
  return port === ownPort && (address === ADDRESS || address === '0.0.0.0')
}

function describePortError(port: number, code: string | null): string {
  const remedy = 'set PALISADE_PROXY_PORT to another port, or to 0 for any free one'
  if (code === 'EADDRINUSE') return `port ${port} on ${ADDRESS} is taken; ${remedy}`
  if (code === 'EACCES')
    return `port ${port} needs privileges that this user does not have; ${remedy}`
  return `cannot listen on ${ADDRESS}:${port} (${code}); ${remedy}`
}
