import type { ActivePolicy } from '../../policy/decision/active-policy.ts'

const MAX_UDP_PORTS = 64
const DNS_PORT = 53

/**
 * The ports to which datagrams are carried: those that an allow of `connect:udp` names, the lowest
 * first. A rule without a port opens no port, because each one takes a socket.
 */
export function udpPortsOf(enforced: ReturnType<ActivePolicy['enforced']>): readonly number[] {
  if (enforced.kind === 'nothing') return []
  const rules = enforced.bundle.bundle.policies.flatMap((each) => each.allowlist_v0?.rules ?? [])
  const allows = rules.filter(
    ({ decision, actions }) => decision === 'allow' && actions.includes('connect:udp'),
  )
  const ports = new Set(allows.flatMap(({ resources }) => resources.flatMap(portOf)))
  // The policy's own server has this one.
  ports.delete(DNS_PORT)
  return [...ports].toSorted((a, b) => a - b).slice(0, MAX_UDP_PORTS)
}

function portOf(resource: string): readonly number[] {
  // Without brackets, the end of an IPv6 address looks like a port.
  if (!resource.startsWith('[') && resource.split(':').length > 2) return []
  const port = /:([1-9]\d{0,4})$/.exec(resource)?.[1]
  return port === undefined ? [] : [Number(port)]
}
