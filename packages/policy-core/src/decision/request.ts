import { formatAddress, parseAddress, type IpAddress } from '../address/ip-address.ts'
import { isLoopback } from '../address/protected-address.ts'
import { isLocalhostName, parseHost } from '../host/host.ts'
import { isPort } from '../host/port.ts'
import { parsePath } from '../path/path.ts'
import {
  ACTIONS,
  isFilesystemAction,
  isNetworkAction,
  type FilesystemAction,
  type NetworkAction,
} from '../policy/policy.ts'
import { quote } from '../quote.ts'
import { parsed, refused, type Parsed } from '../result.ts'
import type { ConnectRequest, PathRequest } from '../policy/decision.ts'

/** A request whose members are read once. All evaluation uses these values only. */
export type ParsedRequest =
  | {
      readonly kind: 'connect'
      readonly action: NetworkAction
      /** Null when the host is an IP literal: name rules never match one. */
      readonly name: string | null
      readonly port: number
      readonly address: IpAddress | null
      readonly canonical: ConnectRequest
    }
  | {
      readonly kind: 'path'
      readonly action: FilesystemAction
      readonly path: string
      readonly canonical: PathRequest
    }

const LOOPBACK: IpAddress = { family: 4, value: 0x7f00_0001n }

/**
 * Members of a request, each read once, with unchecked types. If the members are canonical, this
 * object itself becomes the canonical request.
 */
export type RequestMembers = ConnectMembers | PathMembers

export interface ConnectMembers {
  readonly action: NetworkAction
  readonly host: unknown
  readonly port: unknown
  /** Absent when the request has no address. */
  readonly address?: unknown
}

export interface PathMembers {
  readonly action: FilesystemAction
  readonly path: unknown
}

/** Reads any value as a request. Never throws, even if getters or proxies throw. */
export function parseRequest(value: unknown): Parsed<ParsedRequest> {
  const members = readMembers(value)
  return typeof members === 'string' ? refused(members) : parseMembers(members)
}

/** Reads the members of any value, or describes its fault. Getters run here and never again. */
export function readMembers(value: unknown): RequestMembers | string {
  try {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return 'the request is not an object'
    return readAction(value as Readonly<Record<string, unknown>>)
  } catch {
    return 'the request could not be read'
  }
}

function readAction(members: Readonly<Record<string, unknown>>): RequestMembers | string {
  const action = members['action']
  if (isNetworkAction(action)) {
    const { host, port, address } = members
    return address === undefined ? { action, host, port } : { action, host, port, address }
  }
  if (isFilesystemAction(action)) return { action, path: members['path'] }
  return refuseAction(action)
}

/** A separate function, because V8 inlines callers only while they are short. */
function refuseAction(action: unknown): string {
  const written = typeof action === 'string' ? `${quote(action)} is not an action` : 'no action'
  return `${written}; write one of ${ACTIONS.map(quote).join(', ')}`
}

/** Decides by the action, which determines the other members. */
export function isAboutPath(members: RequestMembers): members is PathMembers {
  return isFilesystemAction(members.action)
}

/** Makes the members canonical, or describes their fault. */
export function parseMembers(members: RequestMembers): Parsed<ParsedRequest> {
  return isAboutPath(members) ? parsePathRequest(members) : parseConnectRequest(members)
}

function parsePathRequest({ action, path: text }: PathMembers): Parsed<ParsedRequest> {
  if (typeof text !== 'string') return refused('`path` is not a string')
  const path = parsePath(text)
  if (!path.ok) return path
  const canonical = { action, path: path.value }
  return parsed({ kind: 'path', action, path: path.value, canonical })
}

function parseConnectRequest({
  action,
  host: hostText,
  port,
  address: addressText,
}: ConnectMembers): Parsed<ParsedRequest> {
  if (typeof hostText !== 'string') return refused('`host` is not a string')
  if (!isPort(port)) return refused('`port` is not a whole number from 1 to 65535')
  const given = parseGivenAddress(addressText)
  if (!given.ok) return given
  const host = parseHost(hostText)
  if (host === null) return refused(`${quote(hostText)} is neither a host name nor an address`)
  const name = host.kind === 'name' ? host.name : null
  const decisive = decisiveAddress(name, host.kind === 'address' ? host.address : null, given.value)
  if (!decisive.ok) return decisive
  const address = decisive.value
  const canonicalHost = host.kind === 'name' ? host.name : formatAddress(host.address)
  const canonical = {
    action,
    host: canonicalHost,
    port,
    ...(address === null ? {} : { address: formatAddress(address) }),
  }
  return parsed({ kind: 'connect', action, name, port, address, canonical })
}

function parseGivenAddress(text: unknown): Parsed<IpAddress | null> {
  if (text === undefined) return parsed(null)
  if (typeof text !== 'string') return refused('`address` is not a string')
  const address = parseAddress(text)
  return address === null ? refused(`${quote(text)} is not an IP address`) : parsed(address)
}

/** The address to evaluate. Refuses a given address that contradicts the host. */
function decisiveAddress(
  name: string | null,
  literal: IpAddress | null,
  given: IpAddress | null,
): Parsed<IpAddress | null> {
  if (literal !== null) {
    const same = given === null || formatAddress(given) === formatAddress(literal)
    return same ? parsed(literal) : refused('`address` is not the address that `host` spells')
  }
  if (name === null || !isLocalhostName(name)) return parsed(given)
  const loopback = given ?? LOOPBACK
  return isLoopback(loopback)
    ? parsed(loopback)
    : refused(`${quote(name)} means loopback, which \`address\` is not`)
}
