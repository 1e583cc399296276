import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  coversPath,
  intersectsPath,
} from '../../../packages/policy-analysis/src/pattern/path-containment.ts'
import { findPath } from '../../../packages/policy-core/src/language/find-path.ts'
import { pathPatterns } from '../../policy-core/arbitraries/path.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../policy-core/every-case.ts'
import { placed } from '../../policy-core/language/placed.ts'

it('coversPath and intersectsPath agree with findPath', { timeout: LAW_TIMEOUT_MS }, () => {
  const outcomes = everyCase(
    { runs: 20_000 },
    fc.tuple(pathPatterns(), pathPatterns()),
    ([left, right], tally) => {
      const [a, b] = [placed(left), placed(right)]

      const covers = coversPath(a, b)
      const intersects = intersectsPath(a, b)

      expect(covers).toBe(findPath({ inAll: [b], inNone: [a] }).kind === 'none' ? 'yes' : 'no')
      expect(intersects).toBe(
        findPath({ inAll: [a, b], inNone: [] }).kind === 'none' ? 'no' : 'yes',
      )
      tally(`covers ${covers}`)
      tally(`intersects ${intersects}`)
    },
  )

  expect(
    outcomes.rarerThan({ 'covers yes': 0.02, 'covers no': 0.2, 'intersects yes': 0.05 }),
  ).toEqual([])
})
