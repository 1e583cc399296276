import * as fc from 'fast-check'
import { domainToASCII } from 'node:url'
import { describe, expect, it } from 'vitest'
import { decodePunycode } from '../../../packages/policy-analysis/src/lint/punycode.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../policy-core/every-case.ts'

describe('decodePunycode', () => {
  // RFC 3492 §7.1
  it.each([
    ['egbpdaj6bu4bxfgehfvwxn', 'ليهمابتكلموشعربي؟'],
    ['ihqwcrb4cv8a8dqg056pqjye', '他们为什么不说中文'],
    ['Proprostnemluvesky-uyb24dma41a', 'Pročprostěnemluvíčesky'],
    ['n8jok5ay5dzabd5bym9f0cm5685rrjetr6pdxa', 'なぜみんな日本語を話してくれないのか'],
    ['3B-ww4c5e180e575a65lsy2b', '3年B組金八先生'],
    ['tda', 'ü'],
    ['bcher-kva', 'bücher'],
    ['-> $1.00 <--', '-> $1.00 <-'],
  ])('decodes %s', (encoded, decoded) => {
    expect(decodePunycode(encoded)).toBe(decoded)
  })

  it.each(['!', 'a!', 'ü', '99999999', 'abc-99999', 'b'])('returns null for %s', (text) => {
    expect(decodePunycode(text)).toBeNull()
  })

  it('inverts the encoder of the runtime', { timeout: LAW_TIMEOUT_MS }, () => {
    const letter = fc.constantFrom(...'abcü中文日кирλ한あ𠮷')
    const outcomes = everyCase(
      { runs: 5000 },
      fc.string({ unit: letter, minLength: 1, maxLength: 12 }),
      (label, tally) => {
        const encoded = domainToASCII(`${label}.test`).split('.')[0] ?? ''
        const isEncoded = encoded.startsWith('xn--')

        const decoded = isEncoded ? decodePunycode(encoded.slice(4)) : encoded

        expect(decoded).toBe(label.normalize('NFC'))
        tally(isEncoded ? 'encoded' : 'plain')
      },
    )

    expect(outcomes.rarerThan({ encoded: 0.5 })).toEqual([])
  })
})
