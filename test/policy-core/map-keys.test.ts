import { compare, lint } from '@palisade/policy-analysis'
import { compilePolicy, type Policy } from '@palisade/policy-core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { policy, rule } from './policies.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const COUNT = 100
const numbers = Array.from({ length: COUNT }, (_, index) => index)

const network = policy(
  'network',
  rule(
    'r',
    'allow',
    ['connect:tcp'],
    ...numbers.map((number) => `10.${number}.0.0/16`),
    ...numbers.map((number) => `2001:db8:${number}::1/128`),
    ...numbers.map((number) => `**.n${number}.example:443`),
  ),
)
const filesystem = policy(
  'filesystem',
  rule(
    'r',
    'allow',
    ['read'],
    ...numbers.flatMap((first) =>
      numbers.slice(0, 10).map((second) => `/n${first}/n${second}/*.txt`),
    ),
  ),
)
const RESOURCES = 3 * COUNT + 10 * COUNT

/**
 * V8 hashes numbers and bigints without a secret, and of bigints only the lowest 64 bits. An
 * attacker who chooses them freely can construct many collisions, which makes the compilation of a
 * policy quadratic. Consecutive numbers and ports leave too few to choose from.
 */
describe('no map has numeric keys that a policy can choose', () => {
  const largest = Math.max(65_535, 4 * RESOURCES)

  it.each([
    ['compilePolicy', (policies: Policy[]) => compilePolicy({ policies })],
    ['lint', (policies: Policy[]) => lint({ policies })],
    [
      'compare',
      (policies: Policy[]) => compare(compilePolicy({ policies: [] }), compilePolicy({ policies })),
    ],
  ])('%s', (_, work) => {
    const keys = keysSetBy(() => work([network, filesystem]))
    expect(keys.length).toBeGreaterThan(RESOURCES)
    expect(keys.filter((key) => typeof key === 'bigint')).toEqual([])
    expect(keys.filter((key) => typeof key === 'number' && key > largest)).toEqual([])
  })
})

function keysSetBy(work: () => void): unknown[] {
  const keys: unknown[] = []
  const map = vi.spyOn(Map.prototype, 'set')
  const set = vi.spyOn(Set.prototype, 'add')
  work()
  for (const [key] of [...map.mock.calls, ...set.mock.calls]) keys.push(key)
  return keys
}
