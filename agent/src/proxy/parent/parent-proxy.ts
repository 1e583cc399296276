import type { CanonicalRequest } from '@palisade/policy-core'
import type { AgentStatus } from '@palisade/protocol'
import type { Socket } from 'node:net'
import type { HeaderList } from '../../http/header-list.ts'
import { formatAuthority, type Target } from '../target/authority.ts'
import { readConnectAnswer } from './connect-answer.ts'
import { createIsDirect } from './direct-targets.ts'
import { ParentFault, refusedBy } from './parent-fault.ts'
import { createFindParent, reachParent, type ReachDeps } from './reach-parent.ts'

export interface ParentDeps extends ReachDeps {
  /** Canonical and sorted. */
  readonly machineAddresses: () => readonly string[]
  /** Epoch milliseconds. */
  readonly clock: () => number
}

export type ParentStatus = NonNullable<AgentStatus['parent_proxy']>

/** A connection to the parent for one request in absolute form. */
export interface ParentRequest {
  readonly socket: Socket
  /** Fields to add to the request. */
  readonly headers: HeaderList
  /** Throws `ParentFault` where the answer with this status is not one of the origin. */
  check(status: number): void
}

/**
 * The proxy of the network, through which allowed connections go.
 *
 * By default this machine resolves a name, and a CONNECT tunnel leads to the decided address, also
 * for `http:` requests. An absolute-form request could not name that address and keep the origin's
 * name: the parent replaces `Host` by the authority of the request (RFC 9112 §3.2.2). Where both
 * are the same, because the parent resolves the name or the program named an address, an `http:`
 * request stays in absolute form: many parents refuse CONNECT to port 80.
 *
 * Where `resolves` is set, the tunnel leads to the name. Rules on names and ports, and on addresses
 * that a program names itself, hold as before. Rules on addresses and the protection of addresses
 * do not hold for names: only the parent knows the address. A third way, to decide resolved
 * addresses and then send the name, is not offered, because the parent could resolve the name to
 * another address than the decided one.
 */
export interface ParentProxy {
  /** Whether the connection goes through the parent. `address` is undefined for a name. */
  carries(target: Target, address: string | undefined): boolean
  /** Whether the parent resolves the host of this request. */
  resolves(request: CanonicalRequest): boolean
  /** Opens a tunnel to a name or an address. Throws `ParentFault`; never dials `to` itself. */
  connect(to: Target, signal: AbortSignal): Promise<Socket>
  /** Connects to the parent for a request to one target. Throws `ParentFault`. */
  connectForRequest(signal: AbortSignal): Promise<ParentRequest>
  /**
   * Whether a connection to this name or address would reach the parent itself, where a program
   * could ask for any target. Knows addresses of the parent's name from its first use on.
   */
  isParent(host: string, port: number): boolean
  status(): ParentStatus
}

/** Bounds the addresses that a changing name leaves behind. */
const MAX_SEEN = 256

export function createParentProxy(deps: ParentDeps): ParentProxy {
  const { access } = deps
  const isDirect = createIsDirect(access.noProxy, deps.machineAddresses)
  const isProtected = createIsDirect([], deps.machineAddresses)
  const findParent = createFindParent(deps)
  const seen = new Set<string>([access.host])
  if (access.host === 'localhost') seen.add('127.0.0.1')
  let lastError: ParentStatus['last_error'] = null

  const reach = async (signal: AbortSignal): Promise<Socket> => {
    const addresses = await findParent()
    for (const address of addresses) if (seen.size < MAX_SEEN) seen.add(address)
    return reachParent(deps, addresses, signal)
  }

  const openTunnel = async (to: Target, signal: AbortSignal): Promise<Socket> => {
    const socket = await reach(signal)
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(deps.timeoutMs)])
      socket.write(formatConnect(to, access.authorization))
      const status = await readConnectAnswer(socket, limit)
      if (status < 200 || status > 299) throw refusedBy(status)
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  const note = (fault: ParentFault): void => {
    const at = new Date(deps.clock()).toISOString()
    lastError = { code: fault.code, message: fault.message, at }
  }
  const noted = async (opening: Promise<Socket>, signal: AbortSignal): Promise<Socket> => {
    try {
      const socket = await opening
      lastError = null
      return socket
    } catch (error) {
      // A client that left says nothing about the parent.
      if (error instanceof ParentFault && !signal.aborted) note(error)
      throw error
    }
  }

  return {
    carries: (target, address) => !isDirect(target, address),
    resolves: (request) =>
      access.resolves &&
      'host' in request &&
      request.action === 'connect:tcp' &&
      request.address === undefined &&
      !isDirect({ host: request.host, port: request.port }, undefined),
    connect: (to, signal) => noted(openTunnel(to, signal), signal),
    async connectForRequest(signal) {
      const { authorization } = access
      return {
        socket: await noted(reach(signal), signal),
        headers: authorization === null ? [] : [['Proxy-Authorization', authorization]],
        check(status) {
          if (status !== 407) return
          const fault = refusedBy(status)
          note(fault)
          throw fault
        },
      }
    },
    isParent(host, port) {
      if (port !== access.port) return false
      if (seen.has(host)) return true
      // A parent on this machine may listen on all of its addresses.
      const isLocal = [...seen].some((each) => isProtected({ host: each, port }, undefined))
      return isLocal && isProtected({ host, port }, undefined)
    },
    status: () => ({
      url: `${access.scheme}://${formatAuthority(access, null)}`,
      resolves: access.resolves,
      last_error: lastError,
    }),
  }
}

function formatConnect(to: Target, authorization: string | null): string {
  const authority = formatAuthority(to, null)
  const proof = authorization === null ? '' : `Proxy-Authorization: ${authorization}\r\n`
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${proof}\r\n`
}
