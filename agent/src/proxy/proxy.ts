import { once } from 'node:events'
import { AgentError, systemErrorCode } from '../host/errors.ts'
import type { EnforcementPoint } from '../enforcement/enforcement-point.ts'
import { readClientEndpoint } from '../host/process-lookup/client-endpoint.ts'
import { createFindOwners } from '../host/process-lookup/socket-owners.ts'
import { createProgramServer, type ProgramServerDeps } from './program-server.ts'
import { PROXY_HOST, type ProxyAddress } from './proxy-address.ts'

export interface ProxyDeps extends Omit<
  ProgramServerDeps,
  'findOwners' | 'isOwnAddress' | 'clientEndpoint' | 'sharesLoopback'
> {
  readonly address: ProxyAddress
  /** 0 for any free one. */
  readonly port: number
}

/**
 * The proxy of this machine. One port speaks HTTP for absolute-form `http:` requests, CONNECT and
 * SOCKS5. `start` throws `ERR_PROXY_PORT`. `describe` returns `http://127.0.0.1:PORT`, with port 0
 * before the start.
 */
export function createProxy(deps: ProxyDeps): EnforcementPoint {
  const { address } = deps
  const { server, closeAll } = createProgramServer({
    ...deps,
    isOwnAddress: address.isOwn,
    sharesLoopback: true,
    clientEndpoint: readClientEndpoint,
    findOwners: createFindOwners(address.endpoint),
  })

  return {
    name: 'proxy',
    async start() {
      server.listen(deps.port, PROXY_HOST)
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
      address.setPort(typeof bound === 'object' && bound !== null ? bound.port : 0)
    },
    describe: () => `http://${PROXY_HOST}:${address.endpoint().port}`,
    async stop() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      closeAll()
      await closed
    },
  }
}

function describePortError(port: number, code: string | null): string {
  const remedy = 'set PALISADE_PROXY_PORT to another port, or to 0 for any free one'
  if (code === 'EADDRINUSE') return `port ${port} on ${PROXY_HOST} is taken; ${remedy}`
  if (code === 'EACCES')
    return `port ${port} needs privileges that this user does not have; ${remedy}`
  return `cannot listen on ${PROXY_HOST}:${port} (${code}); ${remedy}`
}
