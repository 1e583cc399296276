import { expect, it } from 'vitest'
import {
  embeddedIpv4,
  findEmbedded,
} from '../../../packages/policy-core/src/address/embedded-ipv4.ts'
import { addresses } from '../arbitraries/address.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../every-case.ts'
import { readAddress, type Address } from '../reference/address.ts'
import { embeddedAddresses } from '../reference/embedded-address.ts'
import { wordsOf } from '../lookup/address/words.ts'

it.each(['::', '::1', '2001:db8::1', '2003::1', '64:ff9b:2::1', '2001:1::1', '::1:0:0:1'])(
  '%s embeds nothing',
  (text) => {
    const words = wordsOf(readAddress(text)!.value)

    expect(findEmbedded(words)).toEqual([])
  },
)

it.each([
  ['::2', [0x0000_0002]],
  ['::ffff:0:7f00:1', [0x7f00_0001]],
  ['64:ff9b::102:304', [0x0102_0304]],
  ['64:ff9b:1:a0b:cc:d00:e0f:1011', [0x0a0b_cc0d, 0x0bcc_0d00, 0xcc0d_000e, 0x0e0f_1011]],
  ['2002:102:304::', [0x0102_0304]],
  ['2001:0:102:304::f5ff:fefe', [0x0102_0304, 0x0a00_0101]],
])('%s embeds %j', (text, inner) => {
  const words = wordsOf(readAddress(text)!.value)

  expect(findEmbedded(words).map(({ bits }) => bits >>> 0)).toEqual(inner)
})

it('embedded addresses in words ≡ reference', { timeout: LAW_TIMEOUT_MS }, () => {
  const outcomes = everyCase({ runs: 20_000 }, addresses(), (address, tally) => {
    const expected = embeddedAddresses(address).map(({ address: inner, bits }) => ({
      inner: inner.value,
      depths: PREFIXES.map((prefix) => Math.max(...bits.slice(0, prefix)) + 1),
    }))

    const asBigInts = embeddedIpv4(address).map((found) => ({
      inner: found.address.value,
      depths: PREFIXES.map(found.outerBits),
    }))
    expect(asBigInts).toEqual(expected)
    expect(address.family === 4 ? [] : readInWords(address)).toEqual(expected)
    tally(`${expected.length} embedded`)
  })

  expect(
    outcomes.rarerThan({ '1 embedded': 0.05, '2 embedded': 0.01, '4 embedded': 0.01 }),
  ).toEqual([])
})

const PREFIXES = Array.from({ length: 32 }, (_, bit) => bit + 1)

function readInWords(address: Address): { inner: bigint; depths: number[] }[] {
  return findEmbedded(wordsOf(address.value)).map(({ bits, outerBits }) => ({
    inner: BigInt(bits >>> 0),
    depths: PREFIXES.map(outerBits),
  }))
}
