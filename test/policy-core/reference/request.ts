import type { CanonicalRequest, FilesystemAction, NetworkAction } from '@palisade/policy-core'
import { covers, formatAddress, readAddress, readRange, type Address } from './address.ts'
import { formatHost, isLocalhost, readHost } from './host.ts'
import { formatPath, readPath } from './path.ts'

export type ReferenceRequest =
  | {
      readonly kind: 'connect'
      readonly action: NetworkAction
      /** Null when the host is an address. */
      readonly name: string | null
      readonly port: number
      /** Null for a name without a resolved address. */
      readonly address: Address | null
      readonly canonical: CanonicalRequest
    }
  | {
      readonly kind: 'path'
      readonly action: FilesystemAction
      readonly path: readonly string[]
      readonly canonical: CanonicalRequest
    }

/** Converts any value to a canonical request, or null for an invalid one. Never throws. */
export function readRequest(input: unknown): ReferenceRequest | null {
  try {
    if (typeof input !== 'object' || input === null) return null
    const { action } = input as Record<string, unknown>
    if (action === 'connect:tcp' || action === 'connect:udp') {
      const { host, port, address } = input as Record<string, unknown>
      return readConnect(action, host, port, address)
    }
    if (action === 'read' || action === 'write') {
      const { path } = input as Record<string, unknown>
      return readPathRequest(action, path)
    }
    return null
  } catch {
    // A getter or proxy of the caller threw.
    return null
  }
}

function readConnect(
  action: NetworkAction,
  hostText: unknown,
  port: unknown,
  addressText: unknown,
): ReferenceRequest | null {
  const host = readHost(hostText)
  if (host === null || typeof port !== 'number' || !Number.isInteger(port)) return null
  if (port < 1 || port > 65535) return null
  const given = addressText === undefined ? null : readAddress(addressText)
  if (addressText !== undefined && given === null) return null

  const name = host.kind === 'name' ? host.name : null
  let address = given
  if (host.kind === 'address') {
    address = host.address
    if (given !== null && formatAddress(given) !== formatAddress(address)) return null
  } else if (isLocalhost(host.name)) {
    address = given ?? readAddress('127.0.0.1')!
    if (!isLoopback(address)) return null
  }
  const canonical = {
    action,
    host: formatHost(host),
    port,
    ...(address === null ? {} : { address: formatAddress(address) }),
  }
  return { kind: 'connect', action, name, port, address, canonical }
}

function readPathRequest(action: FilesystemAction, text: unknown): ReferenceRequest | null {
  const path = readPath(text)
  return path && { kind: 'path', action, path, canonical: { action, path: formatPath(path) } }
}

function isLoopback(address: Address): boolean {
  return ['127.0.0.0/8', '::1/128'].some((range) => covers(readRange(range)!, address))
}
