import { canonicalAddress } from '@palisade/policy-core'
import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { ParentAccess } from '../../host/config/read-parent-access.ts'
import type { Dial } from '../target/dial.ts'
import type { IsOwnAddress } from '../target/proxy-loop.ts'
import type { Resolve } from '../target/resolver.ts'
import { firstResult, hasBothFamilies, interleaveFamilies } from '../target/staggered-attempts.ts'
import { ParentFault } from './parent-fault.ts'

export interface ReachDeps {
  readonly access: ParentAccess
  readonly resolve: Resolve
  /** Bounds the connection in time, and checks the address that it reached. */
  readonly dial: Dial
  readonly isOwnAddress: IsOwnAddress
  /** Limit for TLS, and for the answer to CONNECT. */
  readonly timeoutMs: number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}

/** How long the addresses of the parent's name are kept: each connection needs them. */
const KEEP_ADDRESSES_MS = 60_000

/** Finds the canonical addresses of the parent. Throws `ParentFault`. */
export type FindParent = () => Promise<readonly string[]>

export function createFindParent({ access, resolve, uptime }: ReachDeps): FindParent {
  const { host } = access
  if (isIP(host) !== 0) return async () => [host]
  if (host === 'localhost') return async () => ['127.0.0.1']
  let known: { readonly until: number; readonly addresses: Promise<readonly string[]> } | null =
    null
  return () => {
    if (known !== null && uptime() < known.until) return known.addresses
    const addresses = resolve(host).then(
      (found) => found.map(canonicalAddress).filter((address) => address !== null),
      () => {
        known = null
        throw new ParentFault('unreachable', 'the name of the parent proxy cannot be resolved')
      },
    )
    known = { until: uptime() + KEEP_ADDRESSES_MS, addresses }
    return addresses
  }
}

/** Connects to the parent at one of `addresses`, with TLS where its URL says so. */
export async function reachParent(
  deps: ReachDeps,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<Socket> {
  const { access, dial, isOwnAddress } = deps
  if (addresses.some((address) => isOwnAddress(address, access.port)))
    throw new ParentFault('loop', 'the parent proxy is this proxy itself')
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const candidates = interleaveFamilies(addresses.map((address) => ({ address })))
  const attempts = candidates.map(({ address }) => async () => {
    const socket = await dial(address, access.port, either).catch(() => null)
    if (socket === null) return null
    if (either.aborted) {
      socket.destroy()
      return null
    }
    over.abort()
    return socket
  })
  const socket = await firstResult(attempts, hasBothFamilies(candidates))
  if (socket === null) throw new ParentFault('unreachable', 'the parent proxy cannot be reached')
  return access.scheme === 'https' ? secure(deps, socket, signal) : socket
}

/** The socket inside TLS, which keeps half-closed connections like `socket`. */
async function secure(deps: ReachDeps, socket: Socket, signal: AbortSignal): Promise<Socket> {
  const { access, timeoutMs } = deps
  const secured = connectTls({
    socket,
    host: access.host,
    // Server names are never addresses (RFC 6066 §3).
    ...(isIP(access.host) === 0 ? { servername: access.host } : {}),
    ...(access.ca === null ? {} : { ca: access.ca }),
    // Stated, because the environment can turn verification off for the process.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
  })
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    await once(secured, 'secureConnect', { signal: limit })
    // Handles errors until the new owner of the socket listens.
    secured.on('error', () => secured.destroy())
    return secured
  } catch (error) {
    secured.on('error', () => {})
    secured.destroy()
    socket.destroy()
    throw new ParentFault('tls_failed', `TLS with the parent proxy failed (${codeOf(error)})`)
  }
}

/** The code alone: messages of TLS hold names from the certificate. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
