import { CARRIERS, type Embedding } from '../../address/embedded-ipv4.ts'
import { rangeCovers, type IpRange } from '../../address/ip-range.ts'

/** Where the bits of an address are read: which outer bit each is, the first bit being 0. */
export interface BitPlaces {
  readonly places: readonly number[]
  /** Whether the bits stand inverted. */
  readonly isInverted: boolean
}

/** One way to carry an IPv4 address, bit by bit. Its places ascend. */
export interface EmbeddingBits extends BitPlaces {
  readonly outerBits: Embedding['outerBits']
}

/** All ways of the IPv6 addresses that share one range; the ranges are apart. */
export interface EmbeddingGroup {
  readonly range: IpRange
  readonly ways: readonly EmbeddingBits[]
}

export function embeddingGroups(): readonly EmbeddingGroup[] {
  return CARRIERS.map(({ range, ways }) => ({
    range,
    ways: ways.map(({ isInverted, outerBits }) => {
      const places = Array.from({ length: 32 }, (_, bit) => outerBits(bit + 1) - 1)
      return { places, isInverted, outerBits }
    }),
  }))
}

/** The IPv4 range that holds what every address of `range` carries in this way. */
export function carriedRange(group: EmbeddingGroup, way: EmbeddingBits, range: IpRange): IpRange {
  if (!rangeCovers(group.range, range)) return { family: 4, base: 0n, prefix: 0 }
  let prefix = 0
  let base = 0n
  for (const place of way.places) {
    if (place >= range.prefix) break
    const bit = (range.base >> BigInt(127 - place)) & 1n
    base |= (way.isInverted ? bit ^ 1n : bit) << BigInt(31 - prefix)
    prefix += 1
  }
  return { family: 4, base, prefix }
}
