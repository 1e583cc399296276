import type { Socket as DatagramSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { decideHeld } from '../../grants/access/once-grants.ts'
import type { AgentLog } from '../../host/agent-log.ts'
import type { ActivePolicy, MachineDecision } from '../../policy/decision/active-policy.ts'
import type { EnforcementEvent } from '../../enforcement/enforcement-event.ts'
import type { ClientEndpoint } from '../../host/process-lookup/client-endpoint.ts'
import { createFindOwners } from '../../host/process-lookup/socket-owners.ts'
import type { TcpEndpoint } from '../../host/process-lookup/tcp-table.ts'
import { createLiveConnections } from '../../proxy/admission/live-connections.ts'
import { recheckOnChange } from '../../proxy/admission/recheck-on-change.ts'
import { createProgramServer, type ProgramServerDeps } from '../../proxy/program-server.ts'
import type { Target } from '../../proxy/target/authority.ts'
import type { Resolve, ResolveServices } from '../../proxy/target/resolver.ts'
import { closeSocket, createUdpPorts } from '../../proxy/udp/udp-sockets.ts'
import { serveCapture } from './capture.ts'
import { createConfine, HOST_ADDRESSES, HOST_NAME } from './confine.ts'
import { answerQuery } from './dns/answer-query.ts'
import { createAnswerService } from './dns/answer-service.ts'
import { createNameTable, type NameTableLimits } from './dns/name-table.ts'
import { serveDatagrams, serveStreams, type Answer } from './dns/serve-dns.ts'
import { readSandboxEndpoint } from './socket-addresses.ts'
import type { FindDestination } from './original-destination.ts'
import { serveUdp } from './udp/serve-udp.ts'

/** Listeners within the network namespace of one sandbox. */
export interface SandboxListeners {
  /** Speaks the dialects of the proxy, on loopback. */
  readonly proxy: Server
  /** The kernel redirects all other TCP connections here, but those to loopback. */
  readonly capture: Server
  /** Port 53 of every address. */
  readonly dnsUdp: DatagramSocket
  readonly dnsTcp: Server
  /**
   * Sockets by port, bound to every IPv4 address. No datagram to another port leaves the sandbox.
   */
  readonly udp: ReadonlyMap<number, DatagramSocket>
}

export interface SandboxNetworkDeps extends Omit<
  ProgramServerDeps,
  'live' | 'findOwners' | 'clientEndpoint' | 'sharesLoopback' | 'rename'
> {
  /** Marks the records of the sandbox. */
  readonly sandboxId: string
  /** A process in the network namespace, whose tables tell which program connects. */
  readonly holderPid: number
  readonly listeners: SandboxListeners
  readonly active: Pick<ActivePolicy, 'enforced' | 'subscribe' | 'decisivePorts'>
  readonly findDestination: FindDestination
  readonly resolveServices: ResolveServices
  /** Requests, tunnels and UDP conversations at once. */
  readonly maxSlots: number
  readonly nameTableLimits?: NameTableLimits
  /** Applied after the rules of every sandbox; a self-probe opens its own canary so. */
  readonly openCanaries?: (decide: ActivePolicy['decide']) => ActivePolicy['decide']
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly log: Pick<AgentLog, 'info'>
}

/** The network of one sandbox, which shares no part with another one. */
export interface SandboxNetwork {
  /** Closes all listeners and connections. Idempotent. */
  close(): void
}

/**
 * Serves the programs of one sandbox. Call it before the first of them runs: an earlier connection
 * would not be served. Everything that leaves is dialled from here, by the
 * routine and with the records of the machine's proxy, and is narrowed to the reach of a sandbox.
 */
export async function serveSandbox(deps: SandboxNetworkDeps): Promise<SandboxNetwork> {
  const { sandboxId, listeners, active, uptime, onError } = deps
  const confine = createConfine()
  const confined: ProgramServerDeps['decide'] = (request) => confine(deps.decide(request))
  const decide = deps.openCanaries?.(confined) ?? confined
  const resolve: Resolve = (name) =>
    name === HOST_NAME ? Promise.resolve(HOST_ADDRESSES) : deps.resolve(name)
  const onEvent = (event: EnforcementEvent): void => deps.onEvent({ ...event, sandbox: sandboxId })
  const names = createNameTable(uptime, deps.nameTableLimits)
  const live = createLiveConnections(
    (request, slot) => decideHeld({ decide, once: deps.once }, slot, request),
    deps.maxSlots,
  )

  const destinations = new WeakMap<Socket, TcpEndpoint>()
  const clientEndpoint = (client: Socket): ClientEndpoint | null =>
    readSandboxEndpoint(client, deps.holderPid, destinations.get(client))
  // A program that resolves names itself gives their addresses to the proxy.
  const rename = ({ host, port }: Target): Target => ({ host: names.nameAt(host) ?? host, port })
  const shared = { ...deps, decide, resolve, onEvent, live, names }
  const programs = createProgramServer({
    ...shared,
    clientEndpoint,
    rename,
    sharesLoopback: false,
    findOwners: createFindOwners(() => NO_ENDPOINT),
  })
  programs.server.listen(listeners.proxy)

  listeners.capture.maxConnections = deps.maxConnections
  const noteDestination = (client: Socket, destination: TcpEndpoint): void =>
    void destinations.set(client, destination)
  serveCapture({ ...shared, programs, noteDestination }, listeners.capture)

  const answerService = createAnswerService(deps.resolveServices)
  const answer: Answer = (packet, client) => {
    const onDenial = (decision: MachineDecision): void =>
      onEvent({ point: 'dns', protocol: 'dns', decision, client })
    const portsOf = (name: string): readonly number[] => active.decisivePorts(name)
    return answerQuery({ decide, portsOf, names, onDenial, answerService }, packet)
  }
  serveDatagrams(listeners.dnsUdp, answer, deps.holderPid)
  const stopStreams = serveStreams(listeners.dnsTcp, answer, clientEndpoint)
  const carriesDatagrams = deps.parent === undefined || deps.parent === null
  const stopUdp = serveUdp({ ...shared, ports: createUdpPorts() }, listeners.udp)
  // A parent proxy carries no datagrams. Without a socket the kernel refuses them at once.
  if (!carriesDatagrams) stopUdp()

  await once(programs.server, 'listening')
  // Last, because it lasts beyond a failure of the above. No connection exists before.
  const stopRechecks = recheckOnChange({ active, live, uptime, log: deps.log, onError })
  let isClosed = false
  return {
    close() {
      if (isClosed) return
      isClosed = true
      stopRechecks()
      programs.server.close()
      listeners.capture.close()
      programs.closeAll()
      closeSocket(listeners.dnsUdp)
      stopStreams()
      stopUdp()
    },
  }
}

/** Each connection of a sandbox names its own ends. */
const NO_ENDPOINT: TcpEndpoint = { address: '0.0.0.0', port: 0 }
