import { domainToASCII } from 'node:url'
import { canonicalAddress, canonicalHost } from '@palisade/policy-core'
import * as fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, it } from 'vitest'
import { addresses, respellAddress } from './arbitraries/address.ts'
import { hostileHosts } from './arbitraries/hostile.ts'
import { names, nameSpellings, respellName } from './arbitraries/name.ts'
import { everyCase, LAW_TIMEOUT_MS } from './every-case.ts'
import { formatAddress, readAddress } from './reference/address.ts'
import { readHost } from './reference/host.ts'

describe('canonicalHost', () => {
  it('canonicalHost ≡ reference', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 20_000 }, hostTexts(), (text, tally) => {
      const host = canonicalHost(text)

      const expected = readHost(text)
      expect(host).toEqual(
        expected?.kind === 'address'
          ? { kind: 'address', address: formatAddress(expected.address) }
          : expected,
      )
      tally(host?.kind ?? 'invalid')
    })

    expect(outcomes.rarerThan({ name: 0.15, address: 0.15, invalid: 0.15 })).toEqual([])
  })

  it('the canonical form is its own canonical form', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 10_000 }, hostTexts(), (text, tally) => {
      const host = canonicalHost(text)
      const written = host?.kind === 'address' ? host.address : host?.name

      expect(canonicalHost(written ?? text)).toEqual(host)
      tally(host?.kind ?? 'invalid')
    })

    expect(outcomes.rarerThan({ name: 0.15, address: 0.15, invalid: 0.15 })).toEqual([])
  })

  it('every spelling of a name has its canonical form', { timeout: LAW_TIMEOUT_MS }, () => {
    everyCase({ runs: 3000 }, fc.tuple(names(), nameSpellings()), ([name, spelling]) => {
      expect(canonicalHost(respellName(name, spelling))).toEqual({ kind: 'name', name })
    })
  })

  it('every spelling of an address has its canonical form', { timeout: LAW_TIMEOUT_MS }, () => {
    everyCase({ runs: 5000 }, fc.tuple(addresses(), fc.nat(17)), ([address, variant]) => {
      expect(canonicalHost(respellAddress(address, variant))).toEqual({
        kind: 'address',
        address: formatAddress(address),
      })
    })
  })

  it('a canonical name equals the host of a URL with it', { timeout: LAW_TIMEOUT_MS }, () => {
    const unicode = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
    const text = fc
      .tuple(unicode, fc.constantFrom('', '.com', '.\u00fc'))
      .map((parts) => parts.join(''))
    const outcomes = everyCase({ runs: 10_000 }, text, (written, tally) => {
      const host = canonicalHost(written)
      const name = host?.kind === 'name' ? host.name : null

      expect([null, domainToASCII(written).replace(/\.$/, '')]).toContain(name)
      tally(name === null ? 'none' : 'name')
    })

    expect(outcomes.rarerThan({ name: 0.15, none: 0.15 })).toEqual([])
  })
})

describe('canonicalAddress', () => {
  it(
    'canonicalAddress ≡ ipaddr.js, for spellings that both accept',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase({ runs: 10_000 }, addressTexts(), (text, tally) => {
        const canonical = canonicalAddress(text)

        // ipaddr.js also accepts zone ids, and IPv4 with leading zeros or fewer parts.
        const tail = text.slice(text.lastIndexOf(':') + 1)
        const isHexadecimal = text.includes(':') && !/[.%]/.test(text)
        const isStrict = isHexadecimal || ipaddr.IPv4.isValidFourPartDecimal(tail)
        const parsed = isStrict && ipaddr.isValid(text) ? ipaddr.process(text).toString() : null
        // ipaddr.js converts `::192.0.2.1` to IPv4, although it only embeds the address.
        const isCompatible = /^::\d+\.[\d.]+$/.test(text)
        expect(canonical).toBe(isCompatible && parsed !== null ? compatible(parsed) : parsed)
        tally(canonical === null ? 'invalid' : 'valid')
      })

      expect(outcomes.rarerThan({ valid: 0.15, invalid: 0.15 })).toEqual([])
    },
  )

  it('canonicalAddress ≡ reference', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 10_000 }, addressTexts(), (text, tally) => {
      const canonical = canonicalAddress(text)

      const expected = readAddress(text)
      expect(canonical).toBe(expected && formatAddress(expected))
      tally(canonical === null ? 'invalid' : 'valid')
    })

    expect(outcomes.rarerThan({ valid: 0.15, invalid: 0.15 })).toEqual([])
  })
})

/** Formats `::a.b.c.d` for an IPv4 address, in hexadecimal. */
function compatible(ipv4: string): string {
  const bytes = [...Array<number>(12).fill(0), ...ipaddr.IPv4.parse(ipv4).toByteArray()]
  return ipaddr.fromByteArray(bytes).toString()
}

/** Names, addresses, and texts that differ from one by one or two characters. */
function hostTexts(): fc.Arbitrary<string> {
  const letters = fc.constantFrom(
    ...'abxAX019._-:%*/@ \u00df\u00fc\u3002\uff0e\u00ad\u200d\uff11\u2460',
  )
  const spelledName = fc
    .tuple(names(), nameSpellings())
    .map(([n, spelling]) => respellName(n, spelling))
  return fc.oneof(
    { weight: 3, arbitrary: spelledName },
    {
      weight: 3,
      arbitrary: fc.tuple(addresses(), fc.nat(17)).map(([a, v]) => respellAddress(a, v)),
    },
    {
      weight: 3,
      arbitrary: broken(fc.oneof(spelledName, addresses().map(formatAddress)), letters),
    },
    { weight: 1, arbitrary: fc.string({ unit: letters, maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom(...hostileHosts()) },
  )
}

/** Addresses in many spellings, and texts that differ from one by one character. */
function addressTexts(): fc.Arbitrary<string> {
  const spelled = fc.tuple(addresses(), fc.nat(17)).map(([a, v]) => respellAddress(a, v))
  return fc.oneof(
    { weight: 2, arbitrary: spelled },
    { weight: 1, arbitrary: fc.ipV6() },
    { weight: 1, arbitrary: fc.ipV4Extended() },
    {
      weight: 2,
      arbitrary: broken(fc.oneof(spelled, fc.ipV6()), fc.constantFrom(...'019afAFg.:% /[]')),
    },
  )
}

/** A text with one character inserted, removed or replaced. */
function broken(texts: fc.Arbitrary<string>, letters: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(texts, letters, fc.nat(60), fc.nat(1), fc.nat(1))
    .map(([text, letter, place, removed, added]) => {
      const at = place % (text.length + 1)
      return text.slice(0, at) + letter.repeat(added) + text.slice(at + removed)
    })
}
