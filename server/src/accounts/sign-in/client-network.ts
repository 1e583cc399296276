import { isIPv6 } from 'node:net'

/** The networks that one address counts for. */
export interface ClientNetwork {
  /** One client: an IPv4 address, or the /64 of an IPv6 address, the least that any site has. */
  readonly near: string
  /** Around it: the /48 of an IPv6 address, the most that one site gets; otherwise `near`. */
  readonly wide: string
}

/** Any other text counts as a network of its own. */
export function clientNetwork(address: string): ClientNetwork {
  if (!isIPv6(address)) return { near: address, wide: address }
  const [plain = ''] = address.toLowerCase().split('%')
  const mapped = /^(?:0*:){0,5}:?ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1]
  if (mapped !== undefined) return { near: mapped, wide: mapped }
  // Dotted digits at the end stand for two groups, and lie behind the first four in any case.
  const [head = '', tail] = plain.replace(/[\d.]+\.\d+$/, '0:0').split('::')
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  const groups = [...before, ...zeros, ...after].map((group) => group.replace(/^0+(?=.)/, ''))
  return {
    near: `${groups.slice(0, 4).join(':')}::/64`,
    wide: `${groups.slice(0, 3).join(':')}::/48`,
  }
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}
