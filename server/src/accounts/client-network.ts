import { isIPv6 } from 'node:net'

/**
 * What counts as one client in a throttle: an IPv4 address, or the /64 of an IPv6 one, since the
 * smallest site has all 2^64 of those addresses to itself.
 */
export function clientNetwork(address: string): string {
  if (!isIPv6(address)) return address
  const [plain = ''] = address.toLowerCase().split('%')
  const mapped = /^(?:0*:){0,5}:?ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1]
  if (mapped !== undefined) return mapped
  // Dotted digits at the end stand for two groups, and lie behind the first four in any case.
  const [head = '', tail] = plain.replace(/[\d.]+\.\d+$/, '0:0').split('::')
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  const groups = [...before, ...zeros, ...after].slice(0, 4)
  return `${groups.map((group) => group.replace(/^0+(?=.)/, '')).join(':')}::/64`
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}
