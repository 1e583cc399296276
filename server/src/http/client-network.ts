import { isIPv4, isIPv6 } from 'node:net'

/** The networks that a client address belongs to. */
export interface ClientNetwork {
  /** One client: an IPv4 address, or the /64 of an IPv6 address, the smallest network of a site. */
  readonly near: string
  /** One site: the /48 of an IPv6 address, the largest network of a site; otherwise `near`. */
  readonly wide: string
  /** All networks, widest first: /16, /24 and the address; /32, /48, /56, /64 for IPv6. */
  readonly path: readonly [string, ...string[]]
}

/** Returns the networks of an address. Any other text is a network of its own. */
export function clientNetwork(address: string): ClientNetwork {
  if (!isIPv6(address)) return ipv4Network(address)
  const [plain = ''] = address.toLowerCase().split('%')
  const mapped = /^(?:0*:){0,5}:?ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1]
  if (mapped !== undefined) return ipv4Network(mapped)
  // A dotted suffix replaces the last two groups, which no network here includes.
  const [head = '', tail] = plain.replace(/[\d.]+\.\d+$/, '0:0').split('::')
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  const groups = [...before, ...zeros, ...after].map((group) => group.replace(/^0+(?=.)/, ''))
  const near = `${groups.slice(0, 4).join(':')}::/64`
  const wide = `${groups.slice(0, 3).join(':')}::/48`
  const isp = `${groups.slice(0, 2).join(':')}::/32`
  // The upper half of the fourth group.
  const half = (groups[3] ?? '').padStart(4, '0').slice(0, 2)
  const home = `${groups.slice(0, 3).join(':')}:${half}::/56`
  return { near, wide, path: [isp, wide, home, near] }
}

/** Handles IPv4 addresses, and texts that are no address. */
function ipv4Network(address: string): ClientNetwork {
  if (!isIPv4(address)) return { near: address, wide: address, path: [address] }
  const [a, b, c] = address.split('.')
  return { near: address, wide: address, path: [`${a}.${b}`, `${a}.${b}.${c}`, address] }
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}
