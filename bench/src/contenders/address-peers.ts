import { BlockList } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Resource } from '../workload/domain.ts'
import { scan, type Peer } from './contender.ts'

const NAMES_ONLY_BY_TEXT = {
  hosts: 'knows addresses only',
  paths: 'knows addresses only',
} as const

/** Node's own list of ranges: one for the denies, one for the allows. */
export const blockList: Peer = {
  name: 'net.BlockList',
  cannot: NAMES_ONLY_BY_TEXT,
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

/** ipaddr.js: ranges parsed once, the address parsed for each request, ranges scanned. */
export const ipaddrScan: Peer = {
  name: 'ipaddr.js',
  cannot: NAMES_ONLY_BY_TEXT,
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
