import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  buildRadixTable,
  Ipv4Search,
  Ipv6Search,
} from '../../../../packages/policy-core/src/lookup/address/interval-search.ts'
import {
  flattenRanges,
  type Intervals,
} from '../../../../packages/policy-core/src/lookup/address/intervals.ts'
import { sortRanges } from '../../../../packages/policy-core/src/lookup/address/sorted-ranges.ts'
import { addressIn } from '../../arbitraries/address.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../every-case.ts'
import { covers, type Range } from '../../reference/address.ts'
import { wordsOf } from './words.ts'
import { runSteps } from '../../../../packages/policy-core/src/steps.ts'

/**
 * Table entries per interval. Each start is in fewer than 128 / log2(starts) nodes, each with at
 * most twice as many cells as starts, so 40 is an upper bound.
 */
const MAX_CELLS = 40

const BITS = { 4: 32, 6: 128 } as const

describe.each([4, 6] as const)('intervals of IPv%i', (family) => {
  it('search ≡ innermost range of a scan', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 1500, casesPerRun: 40 },
      fc.tuple(fc.array(unevenRanges(family), { maxLength: 200, size: 'max' }), probes()),
      ([ranges, choices], tally) => {
        const search = createSearch(family, intervalsOf(family, ranges))
        for (const [pick, where] of choices) {
          const aim = ranges[pick % ranges.length] ?? { family, value: 0n, prefix: 0 }
          const value = valueNear(aim, where)
          const inside = ranges.flatMap((range, index) =>
            covers(range, { family, value }) ? [{ index, prefix: range.prefix }] : [],
          )
          // Equal ranges nest in their given order.
          const innermost = inside.reduce(
            (best, next) => (next.prefix >= best.prefix ? next : best),
            { index: -1, prefix: 0 },
          )

          expect(search(value)).toBe(innermost.index + 1)
          tally(inside.length === 0 ? 'outside' : 'inside')
        }
      },
    )

    expect(outcomes.rarerThan({ inside: 0.2, outside: 0.01 })).toEqual([])
  })

  it(
    'the size of the table is proportional to the number of ranges',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      everyCase(
        { runs: 200 },
        fc.array(unevenRanges(family), { minLength: 5, maxLength: 500, size: 'max' }),
        (ranges) => {
          const intervals = intervalsOf(family, ranges)

          const perInterval = buildRadixTable(intervals).length / intervals.sets.length
          expect(perInterval).toBeLessThan(MAX_CELLS)
        },
      )
    },
  )

  it('the size of the table is proportional for ranges of every length around one address', () => {
    for (const value of [0n, (1n << BigInt(BITS[family])) - 1n, 0xaaaa_aaaan]) {
      const staircase = Array.from({ length: BITS[family] + 1 }, (_, prefix) =>
        rangeAround(family, value, prefix),
      )
      const intervals = intervalsOf(family, staircase)

      expect(buildRadixTable(intervals).length / intervals.sets.length).toBeLessThan(MAX_CELLS)
    }
  })
})

function intervalsOf(family: 4 | 6, ranges: readonly Range[]): Intervals {
  const asBase = ranges.map(({ value, prefix }) => ({ family, base: value, prefix }))
  return runSteps(flattenRanges(sortRanges(asBase, family === 4 ? 1 : 4), (range) => range + 1))
}

function createSearch(family: 4 | 6, intervals: Intervals): (value: bigint) => number {
  if (family === 4) {
    const search = new Ipv4Search(intervals)
    return (value) => search.find(Number(value))
  }
  const search = new Ipv6Search(intervals)
  return (value) => search.find(wordsOf(value))
}

/** Ranges around few addresses that differ in few bits, many at a word boundary. */
function unevenRanges(family: 4 | 6): fc.Arbitrary<Range> {
  const bits = BITS[family]
  const all = (1n << BigInt(bits)) - 1n
  const edges = [0, 1, 2, 15, 16, 30, 31, 32, 33, 47, 48, 62, 63, 64, 65, 95, 96, 97, 126, 127]
  const edge = fc.constantFrom(...edges.filter((bit) => bit < bits))
  const trunk = fc.constantFrom(0n, all, 0x2a02_0102n << 96n, 0x2001_0db8_0000_0001n << 64n, 10n)
  const prefix = fc.oneof(edge, fc.constantFrom(bits, bits - 1), fc.nat(bits))
  return fc
    .tuple(trunk, fc.array(edge, { maxLength: 4 }), fc.nat(4095), fc.boolean(), prefix)
    .map(([base, flips, low, isLow, length]) => {
      const flipped = flips.reduce((value, bit) => value ^ (1n << BigInt(bits - 1 - bit)), base)
      return rangeAround(family, (isLow ? flipped ^ BigInt(low) : flipped) & all, length)
    })
}

function rangeAround(family: 4 | 6, value: bigint, prefix: number): Range {
  const hostBits = BigInt(BITS[family] - prefix)
  return { family, value: (value >> hostBits) << hostBits, prefix }
}

function probes(): fc.Arbitrary<[pick: number, where: number][]> {
  return fc.array(fc.tuple(fc.nat(), fc.nat(3)), { minLength: 40, maxLength: 40 })
}

/** The first or last address of a range, or a neighbour outside it. */
function valueNear(range: Range, where: number): bigint {
  const all = (1n << BigInt(BITS[range.family])) - 1n
  const last = addressIn(range, all).value
  return ([range.value, last, range.value - 1n, last + 1n][where] ?? 0n) & all
}
