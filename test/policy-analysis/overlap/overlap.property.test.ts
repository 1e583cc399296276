import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { createDomainIndex } from '../../../packages/policy-analysis/src/overlap/domain-index.ts'
import {
  addToFolder,
  createFolder,
  followWay,
  foldersIn,
} from '../../../packages/policy-analysis/src/overlap/folder-tree.ts'
import { createRangeIndex } from '../../../packages/policy-analysis/src/overlap/range-index.ts'
import { rangeCovers } from '../../../packages/policy-core/src/address/ip-range.ts'
import { literalSegment } from '../../../packages/policy-core/src/path/glob.ts'
import { ranges } from '../../policy-core/arbitraries/address.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../policy-core/every-case.ts'
import type { Range } from '../../policy-core/reference/address.ts'

const PORTS = [null, 80, 443] as const
const port = fc.constantFrom(...PORTS)

/** Whether a pattern on port `own` covers port `asked`; null means every port. */
function coversPort(own: number | null, asked: number | null): boolean {
  return own === null || own === asked
}

it('containing and contained ranges ≡ a scan', { timeout: LAW_TIMEOUT_MS }, () => {
  const lists = fc.tuple(fc.array(fc.tuple(ranges(), port), { maxLength: 40 }), ranges(), port)

  everyCase({ runs: 2_000 }, lists, ([drawn, other, askedPort]) => {
    const items = drawn.map(([range, own], index) => ({ index, range: baseOf(range), port: own }))
    const index = createRangeIndex<number>()
    for (const item of items) index.add(item.index, item.range, item.port)
    for (const asked of [baseOf(other), ...items.map(({ range }) => range)]) {
      const around = [...index.around(asked)].flatMap((each) => each.items.covering(askedPort))
      const within = [...index.within(asked)].flatMap((each) => each.items.covering(askedPort))

      const held = items.filter((item) => coversPort(item.port, askedPort))
      const indices = (some: typeof items): number[] => some.map((item) => item.index)
      const sorted = (found: readonly number[]): number[] => found.toSorted((a, b) => a - b)
      expect(sorted(around)).toEqual(indices(held.filter(({ range }) => rangeCovers(range, asked))))
      expect(sorted(within)).toEqual(indices(held.filter(({ range }) => rangeCovers(asked, range))))
    }
  })
})

it('parent and child domains ≡ a scan', { timeout: LAW_TIMEOUT_MS }, () => {
  const domains = fc
    .array(fc.constantFrom('a', 'b', 'a-b', 'ab'), { minLength: 1, maxLength: 4 })
    .map((labels) => labels.join('.'))
  const lists = fc.tuple(fc.array(domains, { maxLength: 40 }), domains)

  everyCase({ runs: 2_000 }, lists, ([all, asked]) => {
    const index = createDomainIndex<string>()
    for (const domain of all) index.add(domain, domain, null)

    const above = [...index.above(asked)].flatMap(({ items }) => items.on(null))
    const below = [...index.below(asked)].flatMap(({ items }) => items.on(null))

    const isBelow = (inner: string, outer: string): boolean => inner.endsWith(`.${outer}`)
    const expected = all.filter((domain) => domain === asked || isBelow(asked, domain))
    expect(above.toSorted()).toEqual(expected.toSorted())
    expect(below.toSorted()).toEqual(all.filter((domain) => isBelow(domain, asked)).toSorted())
  })
})

it('folders above and below a path ≡ a scan', { timeout: LAW_TIMEOUT_MS }, () => {
  const names = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 })
  const lists = fc.tuple(fc.array(names, { maxLength: 40 }), names)

  everyCase({ runs: 2_000 }, lists, ([all, asked]) => {
    const root = createFolder<string>()
    for (const path of all) addToFolder(root, path.join('/'), path.map(literalSegment))

    const { passed, reached } = followWay(root, asked.map(literalSegment))

    const folders = reached === null ? passed : [...passed, ...foldersIn(reached)]
    const found = folders.flatMap(({ items }) => items)
    const expected = all
      .filter((path) => path.every((name, at) => at >= asked.length || name === asked[at]))
      .map((path) => path.join('/'))
    expect(found.toSorted()).toEqual(expected.toSorted())
  })
})

function baseOf({ family, value, prefix }: Range) {
  return { family, base: value, prefix }
}
