import { onlyAddress, readAddress, readRange, type Range } from './address.ts'
import { readHost } from './host.ts'

export interface NamePattern {
  readonly kind: 'name'
  readonly name: string
  readonly below: Below
  readonly port: Port
}

export interface AddressPattern {
  readonly kind: 'address'
  readonly range: Range
  readonly port: Port
}

export type NetworkPattern = NamePattern | AddressPattern

/** The number of labels that a host must add to the pattern's name. */
type Below = 'none' | 'one' | 'one or more'
/** Null means every port. */
type Port = number | null

/** Reads a resource of a network rule. Returns null for an invalid one. */
export function readNetworkPattern(text: string): NetworkPattern | null {
  if (text.includes('/')) {
    const range = readRange(text)
    return range && { kind: 'address', range, port: null }
  }
  const address = readAddress(text)
  if (address !== null) return { kind: 'address', range: onlyAddress(address), port: null }

  if (text.startsWith('[')) return readBracketed(text)

  const [host = '', portText, ...rest] = text.split(':')
  const port = portText === undefined ? null : readPort(portText)
  if (port === undefined || rest.length > 0) return null
  const literal = readAddress(host)
  if (literal !== null) return { kind: 'address', range: onlyAddress(literal), port }
  return readNamePattern(host, port)
}

export function matchesName(pattern: NetworkPattern, name: string, port: number): boolean {
  if (pattern.kind !== 'name' || !isOnPort(pattern, port)) return false
  if (pattern.below === 'none') return name === pattern.name
  if (!name.endsWith(`.${pattern.name}`)) return false
  const extra = name.slice(0, -pattern.name.length - 1)
  return pattern.below === 'one or more' || !extra.includes('.')
}

export function isOnPort(pattern: NetworkPattern, port: number): boolean {
  return pattern.port === null || pattern.port === port
}

/** Reads brackets, which are only valid around IPv6 with a port. */
function readBracketed(text: string): NetworkPattern | null {
  const [, inside = '', portText = ''] = /^\[(.*:.*)\]:(.*)$/s.exec(text) ?? []
  const address = readAddress(inside)
  const port = readPort(portText)
  if (address === null || port === undefined) return null
  return { kind: 'address', range: onlyAddress(address), port }
}

function readNamePattern(text: string, port: Port): NetworkPattern | null {
  const [, stars = '', rest = ''] = /^(?:(\*\*?)\.)?(.*)$/s.exec(text) ?? []
  const host = readHost(rest)
  // A numeric host other than dotted decimal is a mistake in a rule.
  if (host?.kind !== 'name') return null
  const below = stars === '' ? 'none' : stars === '*' ? 'one' : 'one or more'
  return { kind: 'name', name: host.name, below, port }
}

function readPort(text: string): number | undefined {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65535 ? Number(text) : undefined
}
