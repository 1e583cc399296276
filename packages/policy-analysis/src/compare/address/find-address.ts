import {
  FAMILY_BITS,
  formatAddress,
  rangeCovers,
  type IpAddress,
  type IpRange,
  type NetworkPattern,
  type ProtectedClass,
} from '@palisade/policy-core/internal'
import { commonPort, portsToTry } from '../../pattern/ports.ts'
import { createByPort } from '../../overlap/by-port.ts'
import { firstFound, found, NONE, UNKNOWN, type Meter, type SearchResult } from '../meter.ts'
import type { Region } from '../pattern-space.ts'
import { embeddingGroups, type BitPositions, type EmbeddingGroup } from './embedding-bits.ts'
import { anyBits, findBits, wantBits, type Outside, type WantedBits } from './find-bits.ts'
import { sortRanges } from './sorted-ranges.ts'

export type AddressPattern = NetworkPattern & { readonly kind: 'range' }

export interface AddressAndPort {
  readonly address: string
  readonly port: number
}

export interface AddressQuestion {
  readonly region: Region<AddressPattern>
  /** Matched as denies: IPv4 patterns also match inside IPv6 addresses. */
  readonly denied: readonly AddressPattern[]
  /** Matched as allows. */
  readonly allowed: readonly AddressPattern[]
  /** Allows that count only where they open addresses that `within` protects. */
  readonly openers?: readonly AddressPattern[]
  /** Protected addresses that an allow of `resource` does not open count as denied. */
  readonly classes: readonly ProtectedClass[]
}

/** Cost of a question. IPv6 costs more, for the bits of each embedding. */
const STEPS_TO_ASK = { 4: 30, 6: 120 } as const
/** Cost to find a range, sort it and compare it with each embedding. */
const STEPS_TO_SORT = 4

/** ::ffff:0:0/96 holds no IPv6 addresses: each of them is read as its IPv4 address. */
const MAPPED: IpRange = { family: 6, base: 0xffff_0000_0000n, prefix: 96 }
/** `::` and `::1` carry no IPv4 address. */
const BARE: IpRange = { family: 6, base: 0n, prefix: 127 }

/** The question for one port, which needs only the ranges of the patterns. */
interface RangeQuestion {
  readonly resource: IpRange
  readonly within: IpRange | null
  readonly denied: readonly IpRange[]
  readonly allowed: readonly IpRange[]
  readonly openers: readonly IpRange[]
  readonly classes: readonly IpRange[]
}

/**
 * Finds an address and port in the region and outside the other patterns. Exact: embedded IPv4
 * addresses and protected classes count as in `decide`.
 */
export function findAddress(question: AddressQuestion, meter: Meter): SearchResult<AddressAndPort> {
  const { resource, within } = question.region
  const port = commonPort(resource.port, within?.port ?? null)
  if (port === undefined) return NONE
  const { denied, allowed, openers = [] } = question
  const all = [...denied, ...allowed, ...openers]
  if (!meter.spend(1 + all.length)) return UNKNOWN
  const deniedOn = rangesByPort(denied)
  const allowedOn = rangesByPort(allowed)
  const openersOn = rangesByPort(openers)
  const classes = question.classes.map(({ range }) => range)
  return firstFound(portsToTry(port, all), (here) => {
    const ranges = {
      denied: deniedOn(here),
      allowed: allowedOn(here),
      openers: openersOn(here),
    }
    const count = ranges.denied.length + ranges.allowed.length + ranges.openers.length
    if (!meter.spend(STEPS_TO_ASK[resource.range.family] + STEPS_TO_SORT * count)) return UNKNOWN
    const result = findRange(
      { resource: resource.range, within: within?.range ?? null, ...ranges, classes },
      meter,
    )
    if (result.kind !== 'found') return result
    return found({ address: formatAddress(result.value), port: here })
  })
}

function rangesByPort(patterns: readonly AddressPattern[]): (port: number) => readonly IpRange[] {
  const byPort = createByPort<IpRange>()
  for (const { range, port } of patterns) byPort.add(range, port)
  return byPort.on
}

function findRange(question: RangeQuestion, meter: Meter): SearchResult<IpAddress> {
  const { family } = question.resource
  const parts = family === 4 ? [ipv4Part(question)] : ipv6Parts(question)
  const liked = likedAddress(question.resource)
  return firstFound(parts, (part) => {
    if (part.wanted === null) return NONE
    const result = findBits({ wanted: part.wanted, liked, outside: part.outside }, meter)
    return result.kind === 'found' ? found({ family, value: result.value }) : result
  })
}

/** An example that people recognize: an address for documentation, or a first host. */
function likedAddress({ family, prefix }: IpRange): bigint {
  if (family === 4) return prefix < 8 ? 0xc000_0201n : 1n
  return prefix < 16 ? (0x2001_0db8n << 96n) | 1n : 1n
}

/** A part of the addresses that share the same embeddings. */
interface Part {
  /** Null when the part does not intersect the region. */
  readonly wanted: WantedBits | null
  readonly outside: readonly Outside[]
}

function straight(family: IpAddress['family']): BitPositions {
  const positions = Array.from({ length: FAMILY_BITS[family] }, (_, bit) => bit)
  return { positions, isInverted: false }
}

function wantAll(family: IpAddress['family'], ranges: readonly IpRange[]): WantedBits | null {
  const positions = straight(family)
  let wanted: WantedBits | null = anyBits(FAMILY_BITS[family])
  for (const range of ranges) wanted = wanted === null ? null : wantBits(wanted, range, positions)
  return wanted
}

/**
 * Ranges to exclude directly: allows, denies, and classes that the resource is too wide to open.
 */
function directOutside(question: RangeQuestion, family: IpAddress['family']): IpRange[] {
  const { resource, within, denied, allowed, openers, classes } = question
  const opening = openers.filter((range) => within !== null && rangeCovers(within, range))
  return [
    ...[...denied, ...allowed, ...opening].filter((range) => range.family === family),
    ...classes.filter((range) => range.prefix > resource.prefix && rangeCovers(resource, range)),
  ]
}

function ipv4Part(question: RangeQuestion): Part {
  const { resource, within } = question
  if (within !== null && within.family !== 4) return { wanted: null, outside: [] }
  const ranges = sortRanges(directOutside(question, 4))
  return {
    wanted: wantAll(4, within === null ? [resource] : [resource, within]),
    outside: [{ ...straight(4), ranges }],
  }
}

function* ipv6Parts(question: RangeQuestion): Generator<Part> {
  const { resource, within } = question
  const direct = directOutside(question, 6)
  const groups = embeddingGroups()
  const inIpv6 = within?.family === 6 ? [resource, within] : [resource]
  const positions = straight(6)
  if (within?.family !== 4) {
    const others = [...groups.map(({ range }) => range), MAPPED]
    const outside = [{ ...positions, ranges: sortRanges([...direct, ...others]) }]
    yield { wanted: wantAll(6, inIpv6), outside }
    yield {
      wanted: wantAll(6, [...inIpv6, BARE]),
      outside: [{ ...positions, ranges: sortRanges(direct) }],
    }
  }
  const carriers = { ...positions, ranges: sortRanges([...direct, BARE]) }
  for (const group of groups) {
    const wanted = wantAll(6, [...inIpv6, group.range])
    if (wanted === null) continue
    const inner = innerOutside(question, group)
    if (within?.family === 4)
      yield* carryingParts(question, group, { wanted, outside: [carriers, ...inner] })
    else yield { wanted, outside: [carriers, ...inner] }
  }
}

/**
 * Ranges to exclude for embedded IPv4 addresses: denies, and classes that the resource does not
 * open.
 */
function innerOutside(question: RangeQuestion, { ways }: EmbeddingGroup): Outside[] {
  const { resource, denied, classes } = question
  const deniedInside = sortRanges(denied.filter(({ family }) => family === 4))
  return ways.flatMap(({ positions, isInverted, outerBits }) => {
    const closed = classes.filter(
      ({ family, prefix }) => family === 4 && outerBits(prefix) > resource.prefix,
    )
    return [
      { positions, isInverted, ranges: deniedInside },
      { positions, isInverted, ranges: sortRanges(closed) },
    ]
  })
}

/** Yields the part once for each way in which its addresses may carry an address of `within`. */
function* carryingParts(
  { within, openers }: RangeQuestion,
  { ways }: EmbeddingGroup,
  part: Part & { readonly wanted: WantedBits },
): Generator<Part> {
  if (within === null) return
  for (const way of ways) {
    const opening = openers.filter(
      ({ family, prefix }) => family === 6 && prefix >= way.outerBits(within.prefix),
    )
    yield {
      wanted: wantBits(part.wanted, within, way),
      outside: [...part.outside, { ...straight(6), ranges: sortRanges(opening) }],
    }
  }
}
