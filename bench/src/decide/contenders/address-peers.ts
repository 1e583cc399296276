import { BlockList } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Resource } from '../../workload/domain.ts'
import { scan, type Peer } from './contender.ts'

const ADDRESSES_ONLY = {
  hosts: 'supports addresses only',
  paths: 'supports addresses only',
} as const

/** Node's built-in list of ranges: one list for denies, one for allows. */
export const blockList: Peer = {
  name: 'net.BlockList',
  cannot: ADDRESSES_ONLY,
  maxSize: 50_000,
  create(_domain, resources) {
    const listOf = (decision: Resource['decision']): BlockList => {
      const list = new BlockList()
      for (const { pattern } of resources.filter((each) => each.decision === decision)) {
        const [network = '', prefix] = pattern.split('/')
        list.addSubnet(network, Number(prefix), familyOf(network))
      }
      return list
    }
    const denies = listOf('deny')
    const allows = listOf('allow')
    return (text) => {
      const family = familyOf(text)
      return !denies.check(text, family) && allows.check(text, family) ? 1 : 0
    }
  },
}

/** Parses the ranges once and the address per request, then scans the ranges. */
export const ipaddrScan: Peer = {
  name: 'ipaddr.js',
  cannot: ADDRESSES_ONLY,
  maxSize: 50_000,
  create: (_domain, resources) =>
    scan(
      resources,
      (pattern) => {
        const [network, prefix] = ipaddr.parseCIDR(pattern)
        const kind = network.kind()
        return (address: ipaddr.IPv4 | ipaddr.IPv6) =>
          address.kind() === kind && address.match(network, prefix)
      },
      (text) => ipaddr.parse(text),
    ),
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}
