import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { IpAddress } from '../../../packages/policy-core/src/address/ip-address.ts'
import {
  coversNetwork,
  intersectsNetwork,
} from '../../../packages/policy-analysis/src/pattern/network-language.ts'
import {
  patternCoversAddress,
  patternCoversName,
  type NetworkPattern,
} from '../../../packages/policy-core/src/pattern/network-pattern.ts'
import { parseNetworkPattern } from '../../../packages/policy-core/src/pattern/parse-network-pattern.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../policy-core/every-case.ts'

function read(text: string): NetworkPattern {
  const pattern = parseNetworkPattern(text)
  if (!pattern.ok) throw new Error(pattern.message)
  return pattern.value
}

/** An element of the universe: a name or an address, with a port. */
interface Target {
  readonly host: string | IpAddress
  readonly port: number
}

function matches(pattern: NetworkPattern, { host, port }: Target): boolean {
  if (pattern.port !== null && pattern.port !== port) return false
  if (typeof host === 'string') return pattern.kind === 'name' && patternCoversName(pattern, host)
  return pattern.kind === 'range' && patternCoversAddress(pattern, host)
}

/** Every name of up to four labels below `com`, with two ports of rules and one other. */
function allNames(): Target[] {
  const levels = [['com']]
  for (let depth = 0; depth < 4; depth += 1)
    levels.push((levels.at(-1) ?? []).flatMap((name) => ['a', 'b', 'x'].map((l) => `${l}.${name}`)))
  return levels.flat().flatMap((host) => [443, 80, 1].map((port) => ({ host, port })))
}

/** 16 addresses of each family, which contain all ranges of 28 to 32 and 124 to 128 bits. */
function allAddresses(): Target[] {
  return Array.from({ length: 16 }, (_, low) => [
    { family: 4 as const, value: 0xc000_0200n + BigInt(low) },
    { family: 6 as const, value: (0x2001_0db8n << 96n) + BigInt(low) },
  ])
    .flat()
    .flatMap((host) => [443, 80, 1].map((port) => ({ host, port })))
}

function smallNames(): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.constantFrom('', '*.', '**.'),
      fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }),
      fc.constantFrom('', '', ':443', ':80'),
    )
    .map(([stars, labels, port]) => `${stars}${[...labels, 'com'].join('.')}${port}`)
}

function smallRanges(): fc.Arbitrary<string> {
  return fc
    .tuple(fc.boolean(), fc.nat(15), fc.nat(4), fc.constantFrom('', '', ':443', ':80'))
    .map(([isIpv4, low, hostBits, port]) => {
      const first = (low >> hostBits) << hostBits
      const address = isIpv4 ? `192.0.2.${first}` : `2001:db8::${first.toString(16)}`
      if (hostBits > 0) return `${address}/${(isIpv4 ? 32 : 128) - hostBits}`
      if (port === '') return address
      return isIpv4 ? `${address}${port}` : `[${address}]${port}`
    })
}

describe('network containment', () => {
  it('agrees with all names and addresses of a universe', { timeout: LAW_TIMEOUT_MS }, () => {
    const universe = [...allNames(), ...allAddresses()]
    const some = fc.oneof(
      { weight: 3, arbitrary: smallNames() },
      { weight: 1, arbitrary: smallRanges() },
    )
    const outcomes = everyCase(
      { runs: 3000, casesPerRun: universe.length },
      fc.tuple(some, some),
      ([left, right], tally) => {
        const [outer, inner] = [read(left), read(right)]

        const covers = coversNetwork(outer, inner)
        const intersects = intersectsNetwork(outer, inner)

        const isInner = universe.filter((target) => matches(inner, target))
        expect(covers).toBe(isInner.every((target) => matches(outer, target)))
        expect(intersects).toBe(isInner.some((target) => matches(outer, target)))
        tally(`covers ${covers}`)
        tally(`intersects ${intersects}`)
      },
    )

    expect(outcomes.rarerThan({ 'covers true': 0.02, 'intersects true': 0.05 })).toEqual([])
  })

  it('respects that no label fits below a long domain', () => {
    const long = (length: number) => 'a.'.repeat(126).slice(2 * 126 - length + 3) + 'com'
    expect(long(251)).toHaveLength(251)
    expect(long(249)).toHaveLength(249)

    const covers = (outer: string, inner: string) => coversNetwork(read(outer), read(inner))
    expect(covers(`*.${long(249)}`, `**.${long(249)}`)).toBe(false)
    expect(covers(`*.${long(251)}`, `**.${long(251)}`)).toBe(true)
    expect(covers('example.com', `*.b${long(251)}`)).toBe(true)
    expect(intersectsNetwork(read(`*.b${long(251)}`), read(`**.b${long(251)}`))).toBe(false)
  })
})
