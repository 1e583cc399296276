import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  formatAddress,
  parseAddress,
} from '../../../../packages/policy-core/src/address/ip-address.ts'
import {
  formatAsked,
  readAddress,
  type AskedAddress,
} from '../../../../packages/policy-core/src/lookup/address/read-address.ts'
import { addresses, respellAddress } from '../../arbitraries/address.ts'
import { hostileHosts } from '../../arbitraries/hostile.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../every-case.ts'
import {
  formatAddress as formatReference,
  readAddress as readReference,
} from '../../reference/address.ts'

function split(texts: string): string[] {
  return texts.split(' ')
}

/** Returns the address as a number. */
function valueOf(address: AskedAddress): bigint {
  const words: readonly number[] = address.family === 4 ? [address.bits] : address.words
  return words.map((word) => BigInt(word >>> 0)).reduce((value, word) => (value << 32n) | word, 0n)
}

function read(text: string): { family: 4 | 6; value: bigint } | null {
  const address = readAddress(text)
  return address && { family: address.family, value: valueOf(address) }
}

describe('readAddress', () => {
  test.each([
    ['0.0.0.0', 0n],
    ['1.2.3.4', 0x01020304n],
    ['255.255.255.255', 0xffffffffn],
    ['::ffff:1.2.3.4', 0x01020304n],
    ['::FFFF:0102:0304', 0x01020304n],
    ['0:0:0:0:0:ffff:255.255.255.255', 0xffffffffn],
  ])('reads %s as IPv4', (text, value) => {
    expect(read(text)).toEqual({ family: 4, value })
  })

  test.each([
    ['::', 0n],
    ['::1', 1n],
    ['1::', 1n << 112n],
    ['::1.2.3.4', 0x01020304n],
    ['::ffff:0:1.2.3.4', 0xffff_0000_0102_0304n],
    ['1:2:3:4:5:6:7::', 0x0001_0002_0003_0004_0005_0006_0007_0000n],
    ['::2:3:4:5:6:7:8', 0x0002_0003_0004_0005_0006_0007_0008n],
    ['1:2:3:4:5:6:7:8', 0x0001_0002_0003_0004_0005_0006_0007_0008n],
    ['1:2:3:4:5:6:255.254.253.252', 0x0001_0002_0003_0004_0005_0006_fffe_fdfcn],
    ['1:2:3:4:5::1.2.3.4', 0x0001_0002_0003_0004_0005_0000_0102_0304n],
    ['FfFf::00aB', (0xffffn << 112n) | 0xabn],
    ['0001:0000::0', 1n << 112n],
  ])('reads %s as IPv6', (text, value) => {
    expect(read(text)).toEqual({ family: 6, value })
  })

  test.each([
    '',
    '1.2.3.4 ',
    ' 1.2.3.4',
    '::1\0',
    '1.2.3.\uff14',
    '::\uff11',
    '::\u0661',
    '1\u013a\u013a2',
    '2001:db8::\u0131',
    '1'.repeat(50),
    '1:'.repeat(60),
    '1.'.repeat(60),
    '0'.repeat(45),
    `${'0000:'.repeat(8)}0`,
    ...split('. 1 1.2.3 1.2.3.4. .1.2.3.4 1..2.3 1.2.3.4.5 01.2.3.4 1.2.3.00 256.2.3.4 1.2.3.256'),
    ...split(
      '1.2.3.1000 +1.2.3.4 0x1.2.3.4 1.2.3.4/8 1.2.3.4:80 1,2,3,4 127.1 2130706433 1.2.3.-4',
    ),
    ...split(
      ': ::: ::1:: 1::2::3 1: :1 1:::2 fe80: 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 ::g ::@ ::/ 1::`',
    ),
    ...split(
      '1:2:3:4:5:6:7:8:: ::1:2:3:4:5:6:7:8 1:2:3:4::5:6:7:8 1:2:3:4:5:6:7:8: 12345:: ::12345',
    ),
    ...split(
      '::1%lo ::1% [::1] ::1/128 ::1.2.3 ::1.2.3.4.5 ::01.2.3.4 ::1.2.3.256 ::.1.2.3 ::a.2.3.4',
    ),
    ...split(
      '1.2.3.4:: ::1.2.3.4:5 1:2:3:4:5:6:7:1.2.3.4 1:2:3:4:5:6:7:8:1.2.3.4 ::1.2.3.4:: ::1.2.3.4.',
    ),
  ])('rejects %j', (text) => {
    expect(readAddress(text)).toBeNull()
  })

  test.each(['1:'.repeat(5_000_000), '1'.repeat(10_000_000), ':'.repeat(10_000_000)])(
    'rejects ten megabytes without reading them',
    (text) => {
      const startedMs = performance.now()

      expect(readAddress(text)).toBeNull()
      expect(performance.now() - startedMs).toBeLessThan(5_000)
    },
  )

  it('does not change an address when further ones are read', () => {
    const addresses = ['1.2.3.4', '2001:db8::1', '5.6.7.8', '2001:db8::2'].map(readAddress)

    expect(addresses.map((address) => formatAsked(address!))).toEqual([
      '1.2.3.4',
      '2001:db8::1',
      '5.6.7.8',
      '2001:db8::2',
    ])
  })

  it('read ≡ reference ≡ parseAddress', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 30_000 }, addressTexts(), (text, tally) => {
      const found = read(text)

      const expected = readReference(text)
      expect(found).toEqual(expected && { family: expected.family, value: expected.value })
      expect(found).toEqual(parseAddress(text))
      tally(`family ${found?.family ?? 0}`)
    })

    expect(outcomes.rarerThan({ 'family 0': 0.15, 'family 4': 0.1, 'family 6': 0.1 })).toEqual([])
  })
})

describe('isCanonical of an address', () => {
  test.each([
    ...split('0.0.0.0 1.2.3.4 :: ::1 1:: 2001:db8::1 1:2:3:4:5:6:7:8 1:0:0:2:: 1::2:0:0:3'),
    ...split('1:0:2:3:4:5:6:7 0:1:2:3:4:5:6:7 64:ff9b::102:304'),
  ])('is true of %s', (text) => {
    expect(readAddress(text)?.isCanonical).toBe(true)
  })

  test.each([
    ...split(
      '::ffff:1.2.3.4 ::1.2.3.4 0:: ::0 0::1 ::01 ::A 1:2:3:4:5:6:7:: 2001:DB8::1 2001:0db8::1',
    ),
    ...split('1:0:0:2:0:0:0:3 1:0:0:2:3:4:: 1::2:0:0:0:3 1:0:0:2::3:4 0:0:0:0:0:0:0:0'),
    ...split('1:0:0:3:4:5:6:7 1::0:3:4:5:6:7'),
  ])('is false of %s', (text) => {
    expect(readAddress(text)?.isCanonical).toBe(false)
  })

  it('isCanonical and formatAsked ≡ formatAddress', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 30_000 }, addressTexts(), (text, tally) => {
      const address = parseAddress(text)
      if (address === null) return

      const asked = readAddress(text)!
      const canonical = formatReference(address)
      expect(formatAddress(address)).toBe(canonical)
      expect(formatAsked(asked)).toBe(canonical)
      expect(asked.isCanonical).toBe(text === canonical)
      tally(text === canonical ? 'canonical' : 'other spelling')
    })

    expect(outcomes.rarerThan({ canonical: 0.15, 'other spelling': 0.15 })).toEqual([])
  })
})

/** Addresses in many spellings, and texts that differ from one by a few characters. */
function addressTexts(): fc.Arbitrary<string> {
  const zeroRich = fc
    .array(fc.constantFrom('0', '0', '0', '00', '1', 'f', 'A', 'ffff', '0db8', '::', ''), {
      minLength: 3,
      maxLength: 9,
    })
    .map((groups) => groups.join(':').replace(/:{3,}/g, '::'))
  const spelled = fc.tuple(addresses(), fc.nat(17)).map(([a, v]) => respellAddress(a, v))
  const valid = fc.oneof(spelled, fc.ipV4(), fc.ipV6(), addresses().map(formatReference))
  return fc.oneof(
    { weight: 4, arbitrary: valid },
    { weight: 3, arbitrary: broken(broken(valid)) },
    { weight: 3, arbitrary: zeroRich },
    { weight: 1, arbitrary: fc.string({ unit: letters(), maxLength: 46 }) },
    { weight: 1, arbitrary: fc.constantFrom(...hostileHosts()) },
  )
}

/** A text with one character inserted, removed or replaced, or unchanged. */
function broken(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(texts, letters(), fc.nat(60), fc.nat(1), fc.nat(1))
    .map(([text, letter, place, removed, added]) => {
      const at = place % (text.length + 1)
      return text.slice(0, at) + letter.repeat(added) + text.slice(at + removed)
    })
}

function letters(): fc.Arbitrary<string> {
  return fc.constantFrom(...'0129afgAFG.:::%/-+ []@`', '\0', '\u00ff', '\u0130', '\uff11', '\ud800')
}
