import { BlockList, isIPv6 } from 'node:net'

/**
 * Addresses outside the public internet (IANA special-purpose registry, RFC 6890), and the metadata
 * service of one cloud that has a public address. Of IPv6 only 2000::/3 is public at all, which
 * leaves out loopback, local, mapped, and translated (64:ff9b::/96) addresses.
 */
const NOT_PUBLIC_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
const PUBLIC_IPV6 = ['2000::/3']
/** 6to4 and Teredo carry an IPv4 address that their gateway would dial. */
const NOT_PUBLIC_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']
const LOOPBACK = ['127.0.0.0/8', '::1/128']

/** Which addresses a webhook may be delivered to. */
export interface ReachableAddresses {
  includes(address: string): boolean
  /** Whether it is the machine's own, and was opened by the operator: there HTTP will do. */
  isOpenLoopback(address: string): boolean
}

/** The public internet, and the addresses and ranges that the operator has opened. */
export function createReachableAddresses(opened: readonly string[]): ReachableAddresses {
  const open = listOf(opened)
  const notPublic = listOf([...NOT_PUBLIC_IPV4, ...NOT_PUBLIC_IPV6])
  const publicIpv6 = listOf(PUBLIC_IPV6)
  const loopback = listOf(LOOPBACK)

  const isPublic = (address: string): boolean =>
    !has(notPublic, address) && (!isIPv6(address) || has(publicIpv6, address))
  return {
    includes: (address) => has(open, address) || isPublic(address),
    isOpenLoopback: (address) => has(open, address) && has(loopback, address),
  }
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    const bits = Number(prefix ?? (isIPv6(address) ? 128 : 32))
    list.addSubnet(address, bits, isIPv6(address) ? 'ipv6' : 'ipv4')
  }
  return list
}

function has(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}
