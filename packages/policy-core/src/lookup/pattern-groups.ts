import { keyOfBits, type IpRange } from '../address/ip-range.ts'
import type { GlobSegment } from '../path/glob.ts'
import type { Depth, NetworkPattern } from '../pattern/network-pattern.ts'
import type { AddressPattern } from './address/address-index.ts'
import type { DomainPatterns } from './name/name-index.ts'
import type { PathGroup } from './path/path-index.ts'
import {
  draftPortGroups,
  groupOfPort,
  type GroupCounter,
  type PortGroupsDraft,
} from './port-groups.ts'

/** The distinct network patterns of a policy set, with the number of each one's group. */
export interface NetworkGroups {
  readonly groupOf: (pattern: NetworkPattern) => number
  readonly domains: () => DomainPatterns[]
  readonly ranges: () => AddressPattern[]
}

type DomainDraft = { readonly domain: string } & Record<Depth, PortGroupsDraft | null>

export function collectNetworkGroups(counter: GroupCounter): NetworkGroups {
  const domains = new Map<string, DomainDraft>()
  const ranges = new Map<string, { range: IpRange; groups: PortGroupsDraft }>()
  return {
    groupOf(pattern) {
      if (pattern.kind === 'name') {
        const { domain, depth, port } = pattern
        let draft = domains.get(domain)
        if (draft === undefined)
          domains.set(domain, (draft = { domain, exact: null, one: null, any: null }))
        return groupOfPort((draft[depth] ??= draftPortGroups()), port, counter)
      }
      const { range, port } = pattern
      const key = keyOfRange(range)
      let draft = ranges.get(key)
      if (draft === undefined) ranges.set(key, (draft = { range, groups: draftPortGroups() }))
      return groupOfPort(draft.groups, port, counter)
    },
    domains: () => [...domains.values()],
    ranges: () => [...ranges.values()],
  }
}

/** The same key as `keyOfBits`, with a faster path for IPv4. */
function keyOfRange({ family, base, prefix }: IpRange): string {
  return `${family === 4 ? Number(base) : keyOfBits(base)}/${prefix}`
}

/** The distinct path patterns of a policy set; `key` is the pattern's text as it is compared. */
export interface PathGroups {
  readonly groupOf: (key: string, segments: readonly GlobSegment[]) => number
  readonly patterns: () => PathGroup[]
}

export function collectPathGroups(counter: GroupCounter): PathGroups {
  const patterns = new Map<string, PathGroup>()
  return {
    groupOf(key, segments) {
      const known = patterns.get(key)
      if (known !== undefined) return known.group
      const group = counter.next()
      patterns.set(key, { segments, group })
      return group
    },
    patterns: () => [...patterns.values()],
  }
}
