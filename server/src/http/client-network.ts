import { isIPv4, isIPv6 } from 'node:net'

/** The networks that one address counts for. */
export interface ClientNetwork {
  /** One client: an IPv4 address, or the /64 of an IPv6 address, the least that any site has. */
  readonly near: string
  /** Around it: the /48 of an IPv6 address, the most that one site gets; otherwise `near`. */
  readonly wide: string
  /** Networks around it and itself, the widest first: /16, /24; /32, /48, /56, /64 of IPv6. */
  readonly path: readonly [string, ...string[]]
}

/** Any other text counts as a network of its own. */
export function clientNetwork(address: string): ClientNetwork {
  if (!isIPv6(address)) return ipv4Network(address)
  const [plain = ''] = address.toLowerCase().split('%')
  const mapped = /^(?:0*:){0,5}:?ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1]
  if (mapped !== undefined) return ipv4Network(mapped)
  // Dotted digits at the end stand for two groups, and lie behind the first four in any case.
  const [head = '', tail] = plain.replace(/[\d.]+\.\d+$/, '0:0').split('::')
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  const groups = [...before, ...zeros, ...after].map((group) => group.replace(/^0+(?=.)/, ''))
  const near = `${groups.slice(0, 4).join(':')}::/64`
  const wide = `${groups.slice(0, 3).join(':')}::/48`
  const isp = `${groups.slice(0, 2).join(':')}::/32`
  // The upper half of the fourth group.
  const home = `${groups.slice(0, 3).join(':')}:${(groups[3] ?? '').padStart(4, '0').slice(0, 2)}::/56`
  return { near, wide, path: [isp, wide, home, near] }
}

/** For any text that is no IPv6 address. */
function ipv4Network(address: string): ClientNetwork {
  if (!isIPv4(address)) return { near: address, wide: address, path: [address] }
  const [a, b, c] = address.split('.')
  return { near: address, wide: address, path: [`${a}.${b}`, `${a}.${b}.${c}`, address] }
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}
