import { canonicalHost, type ConnectRequest } from '@palisade/policy-core'
import type { ContentFault } from '@palisade/protocol'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import { pairHeaders, valuesOf } from '../../http/header-list.ts'
import {
  formatAuthority,
  isSameTarget,
  parseAuthority,
  parseTargetHost,
  type Target,
} from '../target/authority.ts'
import { decideAddresses } from '../target/decide-addresses.ts'
import type { DecideDeps } from '../target/decide-target.ts'
import type { Flight } from './flight.ts'
import type { HttpHead } from './http-head.ts'
import { readHttp2Offer } from './http2-offer.ts'

/** A connection that the policy allowed by its target. */
export interface OpenedTarget {
  readonly target: Target
  /** The address that was dialled; undefined where a parent proxy resolves the name. */
  readonly address: string | undefined
  readonly decision: MachineDecision
}

export type ContentDecision =
  /** `further` is to be decided again with each policy change, beside the target. */
  | { readonly kind: 'granted'; readonly further: ConnectRequest | null }
  | { readonly kind: 'refused'; readonly decision: MachineDecision }

const GRANTED: ContentDecision = { kind: 'granted', further: null }
/** On this port programs speak TLS with a server name. */
const TLS_PORT = 443

/**
 * Decides whether the first bytes in a tunnel fit its target. Servers of many names share addresses
 * and choose by TLS server name or `Host`, so a name in the content counts as much as the target:
 * it must be the target, or be allowed itself and lead to the dialled address.
 */
export async function bindContent(
  deps: DecideDeps,
  opened: OpenedTarget,
  flight: Flight,
): Promise<ContentDecision> {
  switch (flight.kind) {
    case 'opaque':
      return GRANTED
    case 'http2':
      return { kind: 'refused', decision: refuseHttp2(opened) }
    case 'proxied':
      return refuse(opened, 'malformed', 'a PROXY header hides the content behind it')
    case 'malformed': {
      const protocol = flight.protocol === 'tls' ? 'TLS' : 'HTTP'
      return refuse(opened, 'malformed', `the first bytes look like ${protocol}, but are malformed`)
    }
    case 'incomplete':
      return refuse(opened, 'incomplete', 'the first bytes do not tell the protocol in time')
    case 'tls':
      return bindHello(deps, opened, flight)
    case 'http':
      return bindHead(deps, opened, flight.head)
  }
}

function bindHello(
  deps: DecideDeps,
  opened: OpenedTarget,
  { serverName, hasEncryptedHello }: Extract<Flight, { kind: 'tls' }>,
): ContentDecision | Promise<ContentDecision> {
  const { target } = opened
  const isNamed = target.host !== opened.address
  if (serverName === null)
    return isNamed && target.port === TLS_PORT
      ? refuse(opened, 'no_server_name', 'the TLS handshake names no server')
      : GRANTED
  if (serverName === target.host) return GRANTED
  // Other characters would be folded, but the server may read them as they are.
  const host = /^[!-~]+$/.test(serverName) ? parseTargetHost(serverName) : null
  if (host?.kind !== 'name')
    return refuse(opened, 'malformed', 'the TLS handshake names no valid host name')
  const { name } = host
  if (name === target.host) return GRANTED
  if (isNamed && hasEncryptedHello)
    return refuse(
      opened,
      'encrypted_hello',
      `the TLS handshake encrypts its server name behind ${name}; switch ECH off`,
    )
  return bindName(deps, opened, name)
}

function bindHead(
  deps: DecideDeps,
  opened: OpenedTarget,
  head: HttpHead,
): ContentDecision | Promise<ContentDecision> {
  // Some proxies read methods in any letter case.
  if (head.method.toUpperCase() === 'CONNECT') return bindConnect(deps, opened, head)
  const headers = pairHeaders(head.rawHeaders)
  if (readHttp2Offer(head) === 'mixed') return { kind: 'refused', decision: refuseHttp2(opened) }
  const named = readNamed(head, valuesOf(headers, 'host'), opened.target.port)
  if (named === 'none') return GRANTED
  if (named === null)
    return refuse(opened, 'malformed', 'the HTTP request does not name exactly one valid host')
  if (named.port !== opened.target.port)
    return refuse(
      opened,
      'foreign_name',
      `the HTTP request is for ${formatAuthority(named, null)}, not for this port`,
    )
  return named.host === opened.target.host ? GRANTED : bindName(deps, opened, named.host)
}

/** A request to a further proxy, which chooses the address: a rule must allow the name itself. */
function bindConnect(
  deps: DecideDeps,
  opened: OpenedTarget,
  { target }: HttpHead,
): ContentDecision {
  const named = parseAuthority(target, null)
  return named === null
    ? refuse(opened, 'malformed', 'the CONNECT request does not name exactly one valid host')
    : decideFurther(deps, { action: 'connect:tcp', ...named })
}

/** The server that a request names; null without exactly one where one is needed. */
function readNamed(
  { target, minorVersion }: HttpHead,
  hosts: readonly string[],
  port: number,
): Target | 'none' | null {
  // Servers such as nginx take the host of a target of any scheme, before `Host`.
  const absolute = /^[^/?#:]*:\/\/([^/?#]*)/.exec(target)?.[1]
  const [first, ...others] = [...hosts, ...(absolute === undefined ? [] : [absolute])].map((text) =>
    parseAuthority(text, port),
  )
  if (hosts.length > 1) return null
  if (first === undefined) return minorVersion === 0 ? 'none' : null
  if (first === null || others.some((other) => other === null || !isSameTarget(first, other)))
    return null
  return first
}

/** Decides a name, or an address in `Host`, that differs from the target. */
async function bindName(
  deps: DecideDeps,
  opened: OpenedTarget,
  host: string,
): Promise<ContentDecision> {
  const { target, address } = opened
  const request: ConnectRequest = { action: 'connect:tcp', host, port: target.port }
  // An address as target says that names do not matter, except those that a rule denies.
  if (target.host === address) return decideFurther(deps, { ...request, address })
  const asked = deps.decide(request)
  if (asked.decision === 'deny' && asked.address_required !== true) return foreign(asked)
  if (host === address) return decideFurther(deps, request)
  const isName = canonicalHost(host)?.kind === 'name'
  const decided =
    isName && address !== undefined ? await decideAddresses(deps, request).catch(() => []) : []
  const there = decided.find((other) => other.address === address)
  if (there?.decision.decision === 'allow')
    return { kind: 'granted', further: { ...request, address: there.address } }
  if (there !== undefined) return foreign(there.decision)
  return refuse(
    opened,
    'foreign_name',
    address === undefined
      ? `the connection is for ${host}, but a parent proxy chooses the address of ${target.host}`
      : `the connection is for ${host}, which does not resolve to ${address}`,
  )
}

function decideFurther(deps: DecideDeps, further: ConnectRequest): ContentDecision {
  const decision = deps.decide(further)
  return decision.decision === 'deny' ? foreign(decision) : { kind: 'granted', further }
}

function foreign(decision: MachineDecision): ContentDecision {
  return { kind: 'refused', decision: { ...decision, content: 'foreign_name' } }
}

/** The denial of a connection that is HTTP/2, or that its target switches to it. */
export function refuseHttp2(opened: OpenedTarget): MachineDecision {
  const hint = 'HTTP/2 without TLS hides the names of its requests; use TLS'
  return denyContent(opened, 'http2', hint)
}

function refuse(opened: OpenedTarget, content: ContentFault, hint: string): ContentDecision {
  return { kind: 'refused', decision: denyContent(opened, content, hint) }
}

/** A denial of the target itself: its rules allow it, the content does not fit. */
function denyContent(
  { target, address, decision }: OpenedTarget,
  content: ContentFault,
  hint: string,
): MachineDecision {
  const { revision, stale } = decision
  return {
    decision: 'deny',
    reason: 'invalid_request',
    rules: [],
    request: {
      action: 'connect:tcp',
      ...target,
      ...(address === undefined ? {} : { address }),
    },
    revision,
    stale,
    ...(decision.break_glass === true ? { break_glass: true } : {}),
    hint,
    content,
  }
}
