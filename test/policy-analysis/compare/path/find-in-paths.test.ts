import { describe, expect, it } from 'vitest'
import { findInPaths } from '../../../../packages/policy-analysis/src/compare/path/find-in-paths.ts'
import { createMeters } from '../../../../packages/policy-analysis/src/compare/meter.ts'
import { parsePathPattern } from '../../../../packages/policy-core/src/pattern/path-pattern.ts'

function segmentsOf(text: string) {
  const pattern = parsePathPattern(text)
  if (!pattern.ok) throw new Error(pattern.message)
  return pattern.value.segments
}

/**
 * `COVERING` covers this pattern together but not by a single pattern, so a guess cannot decide.
 */
const INSIDE = segmentsOf(`/**/a${'/*'.repeat(4)}`)
const OUTSIDE = ['b', 'c', 'd', 'e'].map((name) => segmentsOf(`/**/${name}${'/*'.repeat(4)}`))
const COVERING = [...OUTSIDE, segmentsOf(`/**/*a*/**`)]

describe('a search among paths', () => {
  it('charges its steps', () => {
    const { answer } = createMeters(10_000_000)

    const result = findInPaths([INSIDE, null], COVERING, answer)

    expect(result.kind).toBe('none')
    expect(10_000_000 - answer.left()).toBeGreaterThan(5_000)
  })

  it.each([10, 1_000, 100_000])('takes no more than the remaining %d steps', (budget) => {
    const { answer } = createMeters(budget)
    const stars = segmentsOf(`/${'*a*b'.repeat(16)}`)
    const others = Array.from({ length: 20 }, (_, index) =>
      segmentsOf(`/${'*b*a'.repeat(8)}*x${index}other*`),
    )

    const result = findInPaths([stars, null], [...others, segmentsOf('/*other*')], answer)

    expect(result.kind === 'unknown').toBe(answer.isSpent())
    // Overdraft of at most one step of the product of 22 patterns, and their reading.
    expect(answer.left()).toBeGreaterThan(-2_000)
  })

  it('charges a guess by the lengths of pattern and path', () => {
    const { answer } = createMeters(1_000_000)
    const long = segmentsOf(`/${'a'.repeat(2_000)}/*`)
    const others = Array.from({ length: 50 }, (_, index) =>
      segmentsOf(`/${'*a'.repeat(60)}${'b'.repeat(1_800)}${index}/*`),
    )

    expect(findInPaths([long, null], others, answer).kind).toBe('found')
    expect(1_000_000 - answer.left()).toBeGreaterThan(50 * 900)
  })
})
