import { describe, expect, it } from 'vitest'
import { copyStrings } from '../../../../bench/src/decide/measure/copy-strings.ts'

describe('copyStrings', () => {
  it('copies texts with any characters', () => {
    const texts = ['plain.example', 'b\u00fccher', '\uff41pi', 'nul\0', '\u{1f512}']

    expect(copyStrings(texts)).toEqual(texts)
  })

  it('continues at the start when the stream ends', () => {
    expect(copyStrings(['a', 'b', 'c'], 2, 4)).toEqual(['c', 'a', 'b', 'c'])
  })
})
