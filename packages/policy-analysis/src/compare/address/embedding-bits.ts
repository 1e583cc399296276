import { CARRIERS, rangeCovers, type Embedding, type IpRange } from '@palisade/policy-core/internal'

/** Positions of the bits of an embedded address in the outer address. The first bit is 0. */
export interface BitPositions {
  readonly positions: readonly number[]
  /** Whether the bits are inverted. */
  readonly isInverted: boolean
}

/** One way to carry an IPv4 address, bit by bit, in ascending positions. */
export interface EmbeddingBits extends BitPositions {
  readonly outerBits: Embedding['outerBits']
}

/** All embeddings of the IPv6 addresses in one range. The ranges of groups are disjoint. */
export interface EmbeddingGroup {
  readonly range: IpRange
  readonly ways: readonly EmbeddingBits[]
}

export function embeddingGroups(): readonly EmbeddingGroup[] {
  return CARRIERS.map(({ range, ways }) => ({
    range,
    ways: ways.map(({ isInverted, outerBits }) => {
      const positions = Array.from({ length: 32 }, (_, bit) => outerBits(bit + 1) - 1)
      return { positions, isInverted, outerBits }
    }),
  }))
}

/** The IPv4 range of the addresses that `range` carries in this way. */
export function carriedRange(group: EmbeddingGroup, way: EmbeddingBits, range: IpRange): IpRange {
  if (!rangeCovers(group.range, range)) return { family: 4, base: 0n, prefix: 0 }
  let prefix = 0
  let base = 0n
  for (const position of way.positions) {
    if (position >= range.prefix) break
    const bit = (range.base >> BigInt(127 - position)) & 1n
    base |= (way.isInverted ? bit ^ 1n : bit) << BigInt(31 - prefix)
    prefix += 1
  }
  return { family: 4, base, prefix }
}
