import { FAMILY_BITS } from '../address/ip-address.ts'
import { keyOfBits } from '../address/ip-range.ts'
import type { NetworkPattern } from '../pattern/network-pattern.ts'
import type { CoverIndex } from './cover-index.ts'
import type { Entry } from './lint-rule.ts'

type RangePattern = NetworkPattern & { readonly kind: 'range' }

/** Ranges of one family, port and prefix length, by their first bits as `keyOfBits` writes them. */
type Level = Map<string, Entry[]>

/** Finds the ranges around another one. O(prefix lengths that occur) a question. */
export function createRangeIndex(): CoverIndex<RangePattern> {
  const levels = new Map<string, Map<number, Level>>()
  return {
    add: (entry, { range, port }) => {
      const key = `${range.family} ${port ?? '*'}`
      const ofKey = levels.get(key) ?? new Map<number, Level>()
      levels.set(key, ofKey)
      const level: Level = ofKey.get(range.prefix) ?? new Map()
      ofKey.set(range.prefix, level)
      const bits = firstBits(range, range.prefix)
      const list = level.get(bits)
      if (list === undefined) level.set(bits, [entry])
      else list.push(entry)
    },
    candidates: function* ({ range, port }) {
      for (const asked of port === null ? ['*'] : ['*', port])
        for (const [prefix, level] of levels.get(`${range.family} ${asked}`) ?? [])
          if (prefix <= range.prefix) yield* level.get(firstBits(range, prefix)) ?? []
    },
  }
}

function firstBits({ family, base }: RangePattern['range'], prefix: number): string {
  return keyOfBits(base >> BigInt(FAMILY_BITS[family] - prefix))
}
