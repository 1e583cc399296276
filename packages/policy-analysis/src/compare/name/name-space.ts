import type { NetworkAction } from '@palisade/policy-core'
import { commonPort } from '../../pattern/ports.ts'
import { coversNetwork } from '../../pattern/network-language.ts'
import { formatNetworkPattern } from '../../pattern/format-pattern.ts'
import { found, type SpaceMeters } from '../meter.ts'
import type { Region, Side, PatternSpace } from '../pattern-space.ts'
import { findName, type NamePattern } from './find-name.ts'
import { indexNames } from './name-index.ts'

/** The space of names without an address. */
export function createNameSpace(
  action: NetworkAction,
  from: Side<NamePattern>,
  to: Side<NamePattern>,
  { meter, tidyMeter }: SpaceMeters,
): PatternSpace<NamePattern> {
  const overlap = (a: NamePattern, b: NamePattern): Region<NamePattern> | null => {
    const resource = meetNames(a, b)
    return resource === null ? null : { resource, within: null }
  }
  return {
    from,
    to,
    meter,
    tidyMeter,
    indexAllows: indexNames,
    indexDenies: indexNames,
    indexDenied: indexNames,
    meet: overlap,
    overlap,
    grants: (_policy, outer, inner) => coversNetwork(outer, inner),
    denies: (deny, { resource }) => coversNetwork(deny, resource),
    counts: () => true,
    isException: (deny, { resource }) => meetNames(deny, resource) !== null,
    find: ({ region, denied, allowed }) => {
      const result = findName(region.resource, [...denied, ...allowed], meter)
      if (result.kind !== 'found') return result
      return found({ action, host: result.value.name, port: result.value.port })
    },
    tighten: ({ region }) => region,
    format: formatNetworkPattern,
  }
}

/** The common part of two patterns. Names nest or are disjoint, so it is one of the two. */
function meetNames(a: NamePattern, b: NamePattern): NamePattern | null {
  const port = commonPort(a.port, b.port)
  if (port === undefined) return null
  const [names, others] = [
    { ...a, port },
    { ...b, port },
  ]
  if (coversNetwork(others, names)) return names
  return coversNetwork(names, others) ? others : null
}
