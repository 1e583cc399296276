import { createRequire } from 'node:module'
import { domainToASCII } from 'node:url'
import { describe, expect, it } from 'vitest'
import {
  hasOneOwner,
  isPublicSuffix,
  ownerOfName,
  WITH_SUFFIXES,
} from '../../../../server/src/evidence/suggest/registrable-domain.ts'

interface SuffixTrie {
  readonly nodeFlags: Uint8Array
  readonly edgeStart: Uint16Array
  readonly edgeLength: Uint8Array
  readonly edgeChild: Uint16Array
  readonly labelText: string
  readonly rulesRoot: number
}

describe('the owner of a name', () => {
  it.each([
    ['a.b.example.com', 'example.com', 'listed'],
    ['example.co.uk', 'example.co.uk', 'listed'],
    ['x.someone.github.io', 'someone.github.io', 'hosting'],
    ['bucket.s3.amazonaws.com', 'bucket.s3.amazonaws.com', 'hosting'],
    ['build.corp', 'build.corp', 'unknown'],
    ['intranet', null, 'unknown'],
  ])('of %s is %s', (name, domain, suffix) => {
    expect(ownerOfName(name)).toEqual({ domain, suffix })
  })

  it.each(['com', 'co.uk', 'github.io', 's3.amazonaws.com', 'x.ck'])('is nobody for %s', (name) => {
    expect(isPublicSuffix(name)).toBe(true)
    expect(hasOneOwner(name)).toBe(false)
  })

  it('is one for the names below a registered domain, and not below a provider of names', () => {
    expect(['example.com', 'eu.example.com', 'someone.github.io'].map(hasOneOwner)).toEqual([
      true,
      true,
      true,
    ])
    expect(['amazonaws.com', 'eu-west-1.amazonaws.com', 'windows.net'].map(hasOneOwner)).toEqual([
      false,
      false,
      false,
    ])
  })

  it('knows every registrable domain with public suffixes below it', () => {
    const missing = [...domainsAboveSuffixes()].filter((domain) => !WITH_SUFFIXES.has(domain))

    expect(missing).toEqual([])
    expect(domainsAboveSuffixes().size).toBeGreaterThan(100)
  })
})

/** Reads the list inside `tldts`, which answers for names only. */
function domainsAboveSuffixes(): ReadonlySet<string> {
  const fromServer = createRequire(new URL('../../../../server/package.json', import.meta.url))
  const trie = fromServer('tldts/dist/cjs/src/data/trie.js') as SuffixTrie
  const { nodeFlags, edgeStart, edgeLength, edgeChild, labelText, rulesRoot } = trie
  const offsets = [0]
  for (const length of edgeLength) offsets.push((offsets.at(-1) ?? 0) + length)
  const found = new Set<string>()
  const walk = (node: number, labels: readonly string[]): void => {
    if (nodeFlags[node] !== 0)
      for (let index = 1; index < labels.length; index += 1) {
        const above = labels.slice(index).join('.')
        if (domainToASCII(above) === above && ownerOfName(above).domain === above) found.add(above)
      }
    for (let edge = edgeStart[node] ?? 0; edge < (edgeStart[node + 1] ?? 0); edge += 1) {
      const label = labelText.slice(offsets[edge], offsets[edge + 1])
      walk(edgeChild[edge] ?? 0, [label, ...labels])
    }
  }
  walk(rulesRoot, [])
  return found
}
