import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { closeIdleClients } from '../http/close-idle-clients.ts'
import { createLoopTurns } from '../http/loop-turns.ts'
import { createClientOwners } from '../host/process-lookup/client-owners.ts'
import type { ClientEndpoint } from '../host/process-lookup/client-endpoint.ts'
import type { FindOwners } from '../host/process-lookup/socket-owners.ts'
import { createAdmission } from './admission/admission.ts'
import { createLiveConnections, type LiveConnections } from './admission/live-connections.ts'
import { readClientBytes, type ClientBytes } from './client-bytes.ts'
import { readConnect } from './connect/read-connect.ts'
import type { PassDeps } from './forward/forward-request.ts'
import { createForwardServer } from './forward/forward-server.ts'
import { readSocks, refuseSocks4 } from './socks/read-socks.ts'
import { refuseLoop, type IsOwnAddress } from './target/proxy-loop.ts'
import { openTunnel } from './tunnel/open-tunnel.ts'
import { openAssociation, type AssociationDeps } from './udp/open-association.ts'
import { createUdpPorts } from './udp/udp-sockets.ts'
import { UDP_LIMITS, type UdpLimits } from './udp/udp-targets.ts'

/** Time for a program to send the head of a CONNECT request, or to negotiate SOCKS. */
const HEAD_TIMEOUT_MS = 8_000

/** One of this many slots may be a UDP association. */
const SLOTS_TO_AN_ASSOCIATION = 8

const SOCKS4 = 4
const SOCKS5 = 5
const CONNECT = 'CONNECT '

export interface ProgramServerDeps extends Omit<PassDeps, 'admission' | 'turns'> {
  readonly live: LiveConnections
  readonly maxConnections: number
  readonly findOwners: FindOwners
  readonly isOwnAddress: IsOwnAddress
  /** Whether programs reach the agent's sockets on loopback, which carry datagrams of SOCKS5. */
  readonly sharesLoopback: boolean
  /** Called with each new connection. */
  readonly onClient?: (client: ClientEndpoint) => void
  readonly udpLimits?: Partial<UdpLimits>
}

/** Serves the programs that connect to one proxy, also those that another listener accepts. */
export interface ProgramServer {
  /** Speaks the dialects of the proxy. Not listening yet. */
  readonly server: Server
  /** Serves a connection of another listener, within the limits of this server. */
  admit(client: Socket, serve: (deps: AssociationDeps) => Promise<void>): void
  /** Closes all connections. */
  closeAll(): void
}

export function createProgramServer(deps: ProgramServerDeps): ProgramServer {
  /** Includes tunnels, and clients that wait for one. */
  const clients = new Set<Socket>()
  const owners = createClientOwners(() => clients, deps.findOwners, deps.clientEndpoint)
  const pass: PassDeps = {
    ...deps,
    turns: createLoopTurns(),
    decide: (request) => refuseLoop(deps.decide(request), deps.isOwnAddress),
    admission: createAdmission(deps.live, owners),
  }
  const maxAssociations = Math.ceil(deps.live.limit / SLOTS_TO_AN_ASSOCIATION)
  const associate: AssociationDeps = {
    ...pass,
    // Counts only: the slots of `live` guard the targets.
    associations: deps.sharesLoopback
      ? createAdmission(createLiveConnections(deps.decide, maxAssociations), owners)
      : null,
    ports: createUdpPorts(),
    limits: { ...UDP_LIMITS, ...deps.udpLimits },
  }
  const { server, serve: serveRequests } = createForwardServer(pass)

  const admit: ProgramServer['admit'] = (client, serve) => {
    clients.add(client)
    const end = deps.clientEndpoint(client)
    if (end !== null) deps.onClient?.(end)
    client.once('close', () => clients.delete(client))
    client.on('error', () => client.destroy())
    closeIdleClients(clients, deps.live.clients, deps.maxConnections)
    serve(associate).catch((error: unknown) => {
      client.destroy()
      deps.onError(error)
    })
  }

  server.maxConnections = deps.maxConnections
  server.on('connection', (client: Socket) =>
    admit(client, (ready) => serveClient(ready, client, serveRequests)),
  )
  return {
    server,
    admit,
    closeAll() {
      deps.live.closeAll()
      for (const client of clients) client.destroy()
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
