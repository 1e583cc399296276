import { describe, expect, it } from 'vitest'
import { indexAddresses } from '../../../packages/policy-analysis/src/compare/address/address-index.ts'
import type { AddressPattern } from '../../../packages/policy-analysis/src/compare/address/find-address.ts'
import { createMeters, type Meter } from '../../../packages/policy-analysis/src/compare/meter.ts'
import { indexNames } from '../../../packages/policy-analysis/src/compare/name/name-index.ts'
import type { NamePattern } from '../../../packages/policy-analysis/src/compare/name/find-name.ts'
import { indexPaths } from '../../../packages/policy-analysis/src/compare/path/path-index.ts'
import { parseNetworkPattern } from '../../../packages/policy-core/src/pattern/parse-network-pattern.ts'

const BUDGET = 1_000_000

function spent(lookUp: (meter: Meter) => readonly unknown[]): { steps: number; found: number } {
  const { answer } = createMeters(BUDGET)
  const found = lookUp(answer).length
  return { steps: BUDGET - answer.left(), found }
}

function network<Kind extends 'name' | 'range'>(text: string, kind: Kind) {
  const parsed = parseNetworkPattern(text)
  if (!parsed.ok || parsed.value.kind !== kind) throw new TypeError(text)
  return { pattern: parsed.value as Kind extends 'name' ? NamePattern : AddressPattern }
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}

describe('a look-up is charged for what it reads', () => {
  it.each([100, 10_000])('for %d names below a wildcard', (count) => {
    const near = indexNames(numbers(count).map((n) => network(`n${n}.test`, 'name')))
    const whole = spent((meter) =>
      near({ resource: network('**.test', 'name').pattern, within: null }, meter),
    )

    expect(whole.found).toBe(count)
    expect(whole.steps).toBeGreaterThan(count / 8)
  })

  it('for names that are read but not returned', () => {
    const near = indexNames(numbers(800).map((n) => network(`n${n}.a.test`, 'name')))
    const direct = spent((meter) =>
      near({ resource: network('*.test', 'name').pattern, within: null }, meter),
    )

    expect(direct.found).toBe(0)
    expect(direct.steps).toBeGreaterThan(100)
  })

  it('for every prefix length of the ranges', () => {
    const near = indexAddresses(numbers(32).map((n) => network(`128.0.0.0/${n + 1}`, 'range')))
    const none = spent((meter) =>
      near({ resource: network('10.0.0.1', 'range').pattern, within: null }, meter),
    )

    expect(none.found).toBe(0)
    expect(none.steps).toBeGreaterThan(30)
  })

  it('for every folder below a path', () => {
    const items = numbers(800).map((n) => ({ pattern: [{ pieces: ['a'] }, { pieces: [`f${n}`] }] }))
    const near = indexPaths(items)
    const all = spent((meter) => near({ resource: [{ pieces: ['a'] }], within: null }, meter))
    const one = spent((meter) => near({ resource: [{ pieces: ['b'] }], within: null }, meter))

    expect(all.found).toBe(800)
    expect(all.steps).toBeGreaterThan(100)
    expect(one).toEqual({ steps: 1, found: 0 })
  })
})
