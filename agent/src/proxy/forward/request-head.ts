import type { IncomingMessage } from 'node:http'
import { formatAuthority, parseAuthority, type Target } from '../target/authority.ts'
import {
  connectionOptions,
  pairHeaders,
  valuesOf,
  withoutHopByHop,
  type HeaderList,
} from '../../http/header-list.ts'

/** Limit for header fields, that of other servers; Node itself limits their bytes. */
const MAX_FIELDS = 2_000

/** Methods to which Node adds no framing of its own. */
const BODYLESS_METHODS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

/** The head of a request as Node's parser returns it. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  /** Such as `1.1`; Node's parser takes any. */
  readonly httpVersion: string
}

type UpgradeHead = Pick<IncomingMessage, 'method' | 'rawHeaders' | 'httpVersion'>

/** A valid request, rebuilt from parsed parts; no part is passed on unparsed. */
export interface ForwardRequest {
  readonly ok: true
  readonly target: Target
  readonly method: string
  readonly path: string
  readonly headers: HeaderList
}

export interface BadHead {
  readonly ok: false
  readonly status: 400 | 431
  readonly reason: string
  readonly message: string
}

/**
 * Validates the head of an absolute-form request (RFC 9112 §3.2.2): the authority replaces the
 * value of `Host`. Refuses every form that the next reader could interpret differently: Node's
 * parser accepts two `Host` fields and any transfer coding.
 */
export function readForwardRequest(head: RequestHead): ForwardRequest | BadHead {
  const headers = pairHeaders(head.rawHeaders)
  const problem = checkVersion(head) ?? checkMethod(head) ?? checkFraming(headers)
  if (problem !== null) return problem
  const url = /^http:\/\/([^/?#]*)([/?][^#]*)?$/i.exec(head.url)
  if (url === null || !/^[\x21-\x7e\x80-\xff]*$/.test(head.url))
    return refuse(
      'request_target',
      'the request target must be `http://host[:port]/path`; use CONNECT for other schemes',
    )
  const target = parseAuthority(url[1] ?? '', 80)
  if (target === null)
    return refuse('authority', 'the authority must be `host` or `host:port` in a canonical form')
  const fault = checkHost(valuesOf(headers, 'host'), head)
  if (fault !== null) return fault
  return {
    ok: true,
    target,
    method: head.method,
    path: toPath(head.method, url[2] ?? ''),
    headers: rebuild(head, headers, target),
  }
}

/** The value does not count, but must be one (RFC 9112 §3.2). */
function checkHost(hosts: readonly string[], { httpVersion }: RequestHead): BadHead | null {
  const [host] = hosts
  if (hosts.length > 1) return refuse('host_mismatch', 'there must be exactly one `Host`')
  if (host === undefined)
    return httpVersion === '1.0' ? null : refuse('host_mismatch', '`Host` is missing')
  return host === '' || parseAuthority(host, 80) !== null
    ? null
    : refuse('host_mismatch', '`Host` must be `host` or `host:port` in a canonical form')
}

/** The path and query of a target. A server is asked for its own options (RFC 9112 §3.2.4). */
function toPath(method: string, rest: string): string {
  if (method === 'OPTIONS' && rest === '') return '*'
  return rest.startsWith('/') ? rest : `/${rest}`
}

/**
 * Whether a request asks for WebSocket (RFC 6455 §4.1), and for no other protocol. All other
 * upgrades, such as `h2c`, are ignored: the request goes on as HTTP/1.1 (RFC 9110 §7.8).
 */
export function isWebSocketUpgrade(head: UpgradeHead): boolean {
  const headers = pairHeaders(head.rawHeaders)
  const isOne = (name: string): boolean => valuesOf(headers, name).length === 1
  const [protocol] = valuesOf(headers, 'upgrade')
  return (
    head.method === 'GET' &&
    head.httpVersion === '1.1' &&
    isOne('upgrade') &&
    protocol?.toLowerCase() === 'websocket' &&
    connectionOptions(headers).has('upgrade') &&
    isOne('sec-websocket-key') &&
    valuesOf(headers, 'transfer-encoding').length === 0 &&
    valuesOf(headers, 'content-length').length === 0
  )
}

/** Validates the head of such a request. Its fields for the next hop ask for the same. */
export function readUpgradeRequest(head: RequestHead & UpgradeHead): ForwardRequest | BadHead {
  if (!isWebSocketUpgrade(head)) return refuse('upgrade', 'the only upgrade is that to WebSocket')
  const read = readForwardRequest(head)
  if (!read.ok) return read
  const kept = read.headers.filter(([field]) => field.toLowerCase() !== 'connection')
  return { ...read, headers: [...kept, ['Upgrade', 'websocket'], ['Connection', 'Upgrade']] }
}

/** Validates the head of a CONNECT request (RFC 9110 §9.3.6). */
export function readConnectTarget(
  head: RequestHead,
): { readonly ok: true; readonly target: Target } | BadHead {
  const headers = pairHeaders(head.rawHeaders)
  const problem = checkVersion(head) ?? checkFraming(headers)
  if (problem !== null) return problem
  if (valuesOf(headers, 'host').length > 1)
    return refuse('host_mismatch', 'there must be at most one `Host`')
  const lengths = valuesOf(headers, 'content-length')
  if (
    valuesOf(headers, 'transfer-encoding').length > 0 ||
    lengths.some((length) => Number(length) !== 0)
  )
    return refuse('framing', 'CONNECT has no body')
  const target = parseAuthority(head.url, null)
  return target === null
    ? refuse('authority', 'CONNECT needs `host:port` in a canonical form')
    : { ok: true, target }
}

function checkVersion({ httpVersion }: RequestHead): BadHead | null {
  return httpVersion === '1.1' || httpVersion === '1.0'
    ? null
    : refuse('malformed_request', 'the proxy speaks HTTP/1.1')
}

/** Node sends every method in capitals, so `trace` would become TRACE after its decision. */
function checkMethod({ method }: RequestHead): BadHead | null {
  const capitals = method.toUpperCase()
  return method === capitals
    ? null
    : refuse('method', `the proxy forwards methods in capitals only, such as \`${capitals}\``)
}

function checkFraming(headers: HeaderList): BadHead | null {
  if (headers.length > MAX_FIELDS)
    return {
      ok: false,
      status: 431,
      reason: 'headers',
      message: `more than ${MAX_FIELDS} header fields`,
    }
  const codings = valuesOf(headers, 'transfer-encoding')
  if (codings.length > 1 || codings.some((coding) => coding.toLowerCase() !== 'chunked'))
    return refuse('framing', '`Transfer-Encoding` may only be `chunked`, once')
  const lengths = valuesOf(headers, 'content-length')
  if (lengths.length > 1 || lengths.some((length) => !/^\d+$/.test(length)))
    return refuse('framing', '`Content-Length` must be one decimal number')
  if (codings.length > 0 && lengths.length > 0)
    return refuse('framing', 'either `Transfer-Encoding` or `Content-Length`, not both')
  return null
}

function rebuild(
  { method, httpVersion }: RequestHead,
  headers: HeaderList,
  target: Target,
): HeaderList {
  // HTTP/1.0 has no expectations (RFC 9110 §10.1.1).
  const dropped = ['host', 'via', ...(httpVersion === '1.0' ? ['expect'] : [])]
  const kept = withoutHopByHop(headers).filter(([field]) => !dropped.includes(field.toLowerCase()))
  const isChunked = valuesOf(headers, 'transfer-encoding').length > 0
  const hasLength = valuesOf(headers, 'content-length').length > 0
  const hasBody = isChunked || hasLength
  const framing: HeaderList = isChunked
    ? [['Transfer-Encoding', 'chunked']]
    : // Otherwise Node would announce a chunked body for all other methods.
      !hasBody && !BODYLESS_METHODS.has(method)
      ? [['Content-Length', '0']]
      : []
  const via = [...valuesOf(headers, 'via'), '1.1 palisade'].join(', ')
  return [
    ['Host', formatAuthority(target, 80)],
    ...kept,
    ...framing,
    ['Via', via],
    ['Connection', 'close'],
  ]
}

function refuse(reason: string, message: string): BadHead {
  return { ok: false, status: 400, reason, message }
}
