import { canonicalHost } from '@palisade/policy-core'
import { connectionTo, type ConnectionRequest } from '../hook/access-request.ts'
import type { SrtMessage } from './srt-frames.ts'

const MEMBERS: ReadonlySet<string> = new Set([
  't',
  'id',
  'method',
  'host',
  'port',
  'hostHeader',
  'sni',
  'path',
  'query',
  'headers',
])

/**
 * The connections that must all be allowed for a `req` message: to its host, and to the names in
 * the Host header and in the TLS server name where they differ. Returns the problem of a message
 * that cannot be decided.
 */
export function connectionsOf(message: SrtMessage): readonly ConnectionRequest[] | string {
  const { host, port, hostHeader, sni } = message
  const unknown = Object.keys(message).find((member) => !MEMBERS.has(member))
  if (unknown !== undefined) return `the request has the unknown member \`${unknown}\``
  if (typeof host !== 'string' || typeof port !== 'number') return 'the request names no host'
  const asked = [connectionTo(host, port)]
  if (hostHeader !== undefined) {
    const named = typeof hostHeader === 'string' ? splitHostHeader(hostHeader, port) : null
    if (named === null) return 'the Host header is no host'
    asked.push(named)
  }
  if (sni !== undefined) {
    if (typeof sni !== 'string') return 'the server name is no text'
    asked.push(connectionTo(sni, port))
  }
  const different = new Map(asked.map((each) => [`${keyOf(each.host)} ${each.port}`, each]))
  return [...different.values()]
}

/** RFC 9110 §7.2. Without a port the header means the port of the request. */
function splitHostHeader(text: string, port: number): ConnectionRequest | null {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:@/?#\\[\]]+))(?::(\d{1,5}))?$/.exec(text)
  if (match === null) return null
  const [, address, name, named] = match
  return connectionTo(address ?? name ?? '', named === undefined ? port : Number(named))
}

/** Two spellings of one host have one key; an invalid host is denied by the agent. */
function keyOf(host: string): string {
  const canonical = canonicalHost(host)
  return canonical === null ? host : JSON.stringify(canonical)
}
