import {
  canonicalHost,
  checkRule,
  compilePolicy,
  decide,
  type CanonicalRequest,
  type CompiledPolicy,
  type Policy,
  type Rule,
} from '@palisade/policy-core'

/**
 * Compiles the hosts, in rule syntax, that stay reachable after the bundle expires. Throws
 * policy-core's `PolicyError`.
 */
export function compileOffline(hosts: readonly string[]): CompiledPolicy {
  return compilePolicy({ policies: hosts.length === 0 ? [] : [policyOf(hosts)], governed: true })
}

/**
 * Whether the requested name or address is one of the hosts. The bundle must allow the request too,
 * and decides the addresses that a name resolves to.
 */
export function isOffline(offline: CompiledPolicy, request: CanonicalRequest | null): boolean {
  if (request === null || !('host' in request)) return false
  const { action, host, port } = request
  return decide(offline, { action, host, port }).decision === 'allow'
}

/** The server's own host and port in rule syntax; empty when no rule can name them. */
export function controlPlane(server: string): readonly string[] {
  const { protocol, hostname, port } = new URL(server)
  // A URL may hold `*.example`, which as a rule would match more than one server.
  if (canonicalHost(hostname.replace(/^\[(.*)\]$/, '$1')) === null) return []
  const host = `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`
  return checkRule(allowing([host])).length === 0 ? [host] : []
}

function policyOf(hosts: readonly string[]): Policy {
  return { id: 'offline_allow', name: 'offline_allow', allowlist_v0: { rules: [allowing(hosts)] } }
}

function allowing(resources: readonly string[]): Rule {
  const actions = ['connect:tcp', 'connect:udp'] as const
  return { id: 'offline_allow', name: 'offline_allow', actions, decision: 'allow', resources }
}
