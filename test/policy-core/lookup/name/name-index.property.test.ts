import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { parseHost } from '../../../../packages/policy-core/src/host/host.ts'
import {
  buildNameIndex,
  type NameIndex,
} from '../../../../packages/policy-core/src/lookup/name/name-index.ts'
import { NameScan, NOT_PLAIN } from '../../../../packages/policy-core/src/lookup/name/name-scan.ts'
import { names, nameSpellings, respellName } from '../../arbitraries/name.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../every-case.ts'
import { byDomain, covering, sameHash, type NamePattern } from './name-patterns.ts'
import { runSteps } from '../../../../packages/policy-core/src/steps.ts'

const REQUESTS = 20
const PORTS = [null, null, null, 443, 80, 8080]

const deepNames = (): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(fc.constantFrom('a', 'b', 'api', 'xn--tda'), { maxLength: 6 }), names())
    .map(([labels, name]) => [...labels, name].join('.'))

const patterns = (domains: fc.Arbitrary<string>): fc.Arbitrary<NamePattern[]> =>
  fc.uniqueArray(
    fc.record({
      domain: domains,
      depth: fc.constantFrom('exact', 'one', 'any'),
      port: fc.constantFrom(...PORTS),
    }),
    { maxLength: 60, selector: (pattern) => JSON.stringify(pattern), size: 'max' },
  )

/** Names whose hashes collide. */
const colliding = (): fc.Arbitrary<string> => fc.constantFrom(...sameHash(4))

const queried = (domains: fc.Arbitrary<string>): fc.Arbitrary<{ name: string; port: number }> =>
  fc.record({
    name: fc
      .tuple(fc.constantFrom('', '', 'x.', 'a.', 'x.y.', 'api.b.a.'), domains)
      .map(([front, domain]) => `${front}${domain}`),
    port: fc.constantFrom(443, 80, 1),
  })

afterEach(() => {
  vi.restoreAllMocks()
})

describe('buildNameIndex', () => {
  for (const [kind, domains] of [
    ['nested', deepNames()],
    ['colliding', colliding()],
  ] as const)
    it(`finds what a scan finds among ${kind} names`, { timeout: LAW_TIMEOUT_MS }, () => {
      const outcomes = everyCase(
        { runs: 500, casesPerRun: REQUESTS },
        fc.tuple(
          patterns(domains),
          fc.array(queried(domains), { minLength: REQUESTS, maxLength: REQUESTS }),
        ),
        ([list, queries], tally) => {
          const index = runSteps(buildNameIndex(byDomain(list), () => 0))

          for (const { name, port } of queries) {
            const expected = covering(list, name, port)
            const found = groupsAt(index, index.findCanonical(name), port)
            const plain = index.find(name)

            expect(sorted(found)).toEqual(expected)
            expect([NOT_PLAIN, index.findCanonical(name)]).toContain(plain)
            tally(expected.length === 0 ? 'nothing' : 'something')
          }
        },
      )

      // The bound is well below the expected share of matches among nested names.
      expect(outcomes.rarerThan({ nothing: 0.1, something: 0.08 })).toEqual([])
    })

  it('is tested with names that really collide', () => {
    const scan = new NameScan()
    const hashes = sameHash(8).map((name) => {
      scan.readCanonical(name)
      return scan.hash
    })

    expect(new Set(hashes).size).toBe(1)
  })

  it('finds each of thousands of colliding names and no other, with one look-up a label', () => {
    const list = sameHash(12).map((domain, index): NamePattern => {
      return { domain, depth: index % 2 === 0 ? 'exact' : 'any', port: null }
    })
    const index = runSteps(buildNameIndex(byDomain(list), () => 0))
    const get = vi.spyOn(Map.prototype, 'get')

    for (const [group, { domain, depth }] of list.entries()) {
      const name = depth === 'exact' ? domain : `a.${domain}`
      const absent = depth === 'exact' ? `a.${domain}` : domain
      get.mockClear()
      const sets = [index.find(name), index.find(absent)]
      const lookups = get.mock.calls.length

      expect(sets.map((set) => groupsAt(index, set, 443))).toEqual([[group], []])
      expect(lookups).toBeLessThanOrEqual(4)
    }
  })

  it('treats a text as canonical only when it is', { timeout: LAW_TIMEOUT_MS }, () => {
    const texts = fc.oneof(
      fc.tuple(names(), nameSpellings()).map(([name, spelling]) => respellName(name, spelling)),
      fc.tuple(names(), fc.nat(300), fc.constantFrom(...ODD)).map(insert),
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom('a', 'localhost', 'a.localhost', 'x'.repeat(63), 'a.'.repeat(126) + 'b'),
    )
    const outcomes = everyCase({ runs: 20_000 }, texts, (text, tally) => {
      const index = runSteps(buildNameIndex([], () => 0))
      const host = parseHost(text)

      const isCanonical = index.find(text) !== NOT_PLAIN
      tally(isCanonical ? 'canonical' : 'other')
      if (!isCanonical) return
      expect(host).toEqual({ kind: 'name', name: text })
      expect(text === 'localhost' || text.endsWith('.localhost')).toBe(false)
    })

    expect(outcomes.rarerThan({ other: 0.2, canonical: 0.1 })).toEqual([])
  })

  it.each(['example.com', 'a', 'a-b.c_d.x1', `${'x'.repeat(63)}.example`, 'a--b.example'])(
    'treats `%s` as canonical',
    (name) => {
      const index = runSteps(buildNameIndex([], () => 0))

      expect(index.find(name)).not.toBe(NOT_PLAIN)
    },
  )
})

const ODD = [
  '.',
  '..',
  '-',
  '--',
  'xn--',
  'A',
  '\u00e9',
  '\u0130',
  '\uff0e',
  '\0',
  ' ',
  '1',
  '.1',
  '/',
  ':',
  '%',
  '\u{1f600}',
  '\u0141',
]

function insert([name, at, odd]: [string, number, string]): string {
  const place = at % (name.length + 1)
  return name.slice(0, place) + odd + name.slice(place)
}

function groupsAt({ sets }: NameIndex, set: number, port: number): readonly number[] {
  return sets.at(set, port).groups
}

function sorted(numbers: readonly number[]): number[] {
  return numbers.toSorted((a, b) => a - b)
}
