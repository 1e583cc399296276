import { describe, expect, it } from 'vitest'
import { createMeters } from '../../../../packages/policy-analysis/src/compare/meter.ts'
import { indexNames } from '../../../../packages/policy-analysis/src/compare/name/name-index.ts'
import { intersectsNetwork } from '../../../../packages/policy-analysis/src/pattern/network-language.ts'
import { parseNetworkPattern } from '../../../../packages/policy-core/src/pattern/parse-network-pattern.ts'
import type { NamePattern } from '../../../../packages/policy-analysis/src/compare/name/find-name.ts'

const DOMAINS = [
  'test',
  'a.test',
  'b.a.test',
  'c.b.a.test',
  'aa.test',
  'a-b.test',
  'xa.test',
  'org',
]
const TEXTS = DOMAINS.flatMap((domain) =>
  ['', '*.', '**.'].flatMap((stars) =>
    ['', ':443', ':80'].map((port) => `${stars}${domain}${port}`),
  ),
)

function patternOf(text: string): NamePattern {
  const pattern = parseNetworkPattern(text)
  if (!pattern.ok || pattern.value.kind !== 'name') throw new Error(text)
  return pattern.value
}

const ITEMS = TEXTS.map((text) => ({ text, pattern: patternOf(text) }))

describe('an index of names', () => {
  it.each(TEXTS)('finds all patterns that share a name with %s, each once', (text) => {
    const resource = patternOf(text)

    const near = indexNames(ITEMS)({ resource, within: null }, createMeters(1).answer)

    expect(new Set(near).size).toBe(near.length)
    const meeting = ITEMS.filter(({ pattern }) => intersectsNetwork(pattern, resource))
    expect(near).toEqual(expect.arrayContaining(meeting))
  })

  it('leaves out patterns for other ports, sibling names, and names below an exact one', () => {
    const near = indexNames(ITEMS)(
      { resource: patternOf('a.test:443'), within: null },
      createMeters(1).answer,
    )

    const texts = near.map(({ text }) => text)
    expect(texts).toContain('**.test:443')
    for (const other of ['a.test:80', 'b.a.test', 'aa.test', 'org'])
      expect(texts).not.toContain(other)
  })
})
