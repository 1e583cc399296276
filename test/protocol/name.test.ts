import { nameSchema } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'

const parse = (text: string) => nameSchema.safeParse(text)

describe('a name', () => {
  it('is stored in NFC and trimmed, for any amount of white space', () => {
    const space = ' '.repeat(10_000)

    expect(parse(`${space}Cafe\u0301${space}`).data).toBe('Caf\u00E9')
  })

  it.each([
    ['composed', '\u1F82'],
    ['decomposed into four', '\u03B1\u0313\u0300\u0345'],
    ['beyond the first plane', '\u{1F600}'],
    ['beyond it and decomposed into three', '\u{16126}'.normalize('NFD')],
  ])('has at most 255 code points after NFC: %s', (_title, character) => {
    const length = [...character.normalize('NFC')].length

    expect(parse(character.repeat(Math.floor(255 / length))).success).toBe(true)
    expect(parse(character.repeat(Math.floor(255 / length) + 1)).success).toBe(false)
  })

  it('is refused for its length without the cost of normalizing it', () => {
    // ICU sorts combining marks in quadratic time, which would take longer than a minute here.
    const hostile = `a${'\u0301\u0327'.repeat(250_000)}`
    const startedAt = performance.now()

    const result = parse(hostile)

    expect(result.error?.issues[0]?.message).toBe('must be at most 255 characters')
    expect(performance.now() - startedAt).toBeLessThan(10_000)
  })
})
