import { once } from 'node:events'
import type { Socket } from 'node:net'
import { AgentError, systemErrorCode } from '../errors.ts'
import { closeIdleClients } from '../http/close-idle-clients.ts'
import { createLoopTurns } from '../http/loop-turns.ts'
import type { EnforcementPoint } from '../points/enforcement-point.ts'
import { clientEnd } from '../programs/client-end.ts'
import { createClientOwners } from '../programs/client-owners.ts'
import { createFindOwners } from '../programs/socket-owners.ts'
import type { TcpEnd } from '../programs/tcp-table.ts'
import { createAdmission } from './admission/admission.ts'
import { createLiveConnections, type LiveConnections } from './admission/live-connections.ts'
import { readClientBytes, type ClientBytes } from './client-bytes.ts'
import { readConnect } from './connect/read-connect.ts'
import type { PassDeps } from './forward/forward-request.ts'
import { createForwardServer } from './forward/forward-server.ts'
import { readSocks, refuseSocks4 } from './socks/read-socks.ts'
import { refuseLoop, type IsSelf } from './target/refuse-loop.ts'
import { openTunnel } from './tunnel/open-tunnel.ts'
import { openAssociation, type AssociationDeps } from './udp/open-association.ts'
import { createUdpPorts } from './udp/udp-sockets.ts'
import { UDP_LIMITS, type UdpLimits } from './udp/udp-targets.ts'

/** Loopback only: every client that can connect acts with this user's policy. */
const ADDRESS = '127.0.0.1'

/** Time for a program to send the head of a CONNECT request, or to negotiate SOCKS. */
const HEAD_TIMEOUT_MS = 8_000

/** One of this many slots may be a UDP association. */
const SLOTS_TO_AN_ASSOCIATION = 8

const SOCKS4 = 4
const SOCKS5 = 5
const CONNECT = 'CONNECT '

export interface ProxyDeps extends Omit<PassDeps, 'admission' | 'turns'> {
  /** 0 for any free one. */
  readonly port: number
  readonly live: LiveConnections
  readonly maxConnections: number
  /** Called with each new connection. */
  readonly onClient?: (client: TcpEnd) => void
  readonly udpLimits?: Partial<UdpLimits>
}

/**
 * The proxy of this machine. One port speaks HTTP for absolute-form `http:` requests, CONNECT and
 * SOCKS5. `start` throws `ERR_PROXY_PORT`. `describe` returns `http://127.0.0.1:PORT`, with port 0
 * before the start.
 */
export interface Proxy extends EnforcementPoint {
  readonly isSelf: IsSelf
}

export function createProxy(deps: ProxyDeps): Proxy {
  let ownPort = 0
  /** Includes tunnels, and clients that wait for one. */
  const clients = new Set<Socket>()
  const owners = createClientOwners(
    () => clients,
    createFindOwners(() => ({ address: ADDRESS, port: ownPort })),
  )
  const isSelf: IsSelf = (address, port) => isOwn(address, port, ownPort)
  const pass: PassDeps = {
    ...deps,
    turns: createLoopTurns(),
    decide: (request) => refuseLoop(deps.decide(request), isSelf),
    admission: createAdmission(deps.live, owners),
  }
  const maxAssociations = Math.ceil(deps.live.limit / SLOTS_TO_AN_ASSOCIATION)
  const associate: AssociationDeps = {
    ...pass,
    // Counts only: the slots of `live` guard the targets.
    associations: createAdmission(createLiveConnections(deps.decide, maxAssociations), owners),
    ports: createUdpPorts(),
    limits: { ...UDP_LIMITS, ...deps.udpLimits },
  }
  const { server, serve } = createForwardServer(pass)
  server.maxConnections = deps.maxConnections
  server.on('connection', (client: Socket) => {
    clients.add(client)
    const end = clientEnd(client)
    if (end !== null) deps.onClient?.(end)
    client.once('close', () => clients.delete(client))
    client.on('error', () => client.destroy())
    closeIdleClients(clients, deps.live.clients, deps.maxConnections)
    serveClient(associate, client, serve).catch((error: unknown) => {
      client.destroy()
      deps.onError(error)
    })
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
    isSelf,
    async stop() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      deps.live.closeAll()
      for (const client of clients) client.destroy()
      await closed
    },
  }
}

/** Chooses the dialect of a program by its first bytes. */
async function serveClient(
  deps: AssociationDeps,
  client: Socket,
  serveRequests: (client: Socket) => void,
): Promise<void> {
  const bytes = readClientBytes(client, HEAD_TIMEOUT_MS)
  const [first] = await bytes.peek(1)
  if (first === undefined) {
    bytes.release().destroy()
  } else if (first === SOCKS4) {
    refuseSocks4(bytes)
  } else if (first === SOCKS5) {
    const request = await readSocks(bytes)
    if (request?.protocol === 'socks5_udp') await openAssociation(deps, request)
    else if (request !== null) await openTunnel(deps, request)
  } else if (await startsWith(bytes, CONNECT)) {
    const tunnel = await readConnect(deps, bytes)
    if (tunnel !== null) await openTunnel(deps, tunnel)
  } else {
    serveRequests(bytes.release())
  }
}

/** Also true when the program stops within the word, so that it gets the answer of that dialect. */
async function startsWith(bytes: ClientBytes, word: string): Promise<boolean> {
  for (let length = 1; ;) {
    const start = (await bytes.peek(length)).toString('latin1', 0, word.length)
    if (!word.startsWith(start)) return false
    if (start.length < length || start.length === word.length) return true
    length = start.length + 1
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
