import { parseJson, parseLargeJson } from '@palisade/protocol'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { writtenJson } from './written-json.ts'

const PLENTY = { maxValues: 1_000_000, maxValuesOfPart: 1_000_000 }

/** How a text is read, and how often others had their turn meanwhile. */
async function read(text: string, limits = PLENTY) {
  let turns = 0
  const pause = async () => {
    turns += 1
  }
  const result = await parseLargeJson(new TextEncoder().encode(text), {
    ...limits,
    decode: (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes),
    pause,
  })
  return { result, turns }
}

const member = fc.tuple(
  fc.constantFrom('"policies"', '"1"', '"0"', '"__proto__"', '"policies"', '"a"'),
  fc.oneof(
    writtenJson,
    fc.array(writtenJson, { maxLength: 4 }).map((all) => `[ ${all.join(' ,')}]`),
  ),
)
/** An object of arrays, which are what is parsed in parts. */
const document = fc.oneof(
  fc.array(member, { maxLength: 3 }).map((all) => `{${all.map((each) => each.join(': ')).join()}}`),
  writtenJson,
)

describe('parseLargeJson', () => {
  property.prop([document, fc.nat(34)], { numRuns: 2_000 })(
    'reads a text as parseJson does',
    async (text, levels) => {
      const nested = `{"in":[${'['.repeat(levels)}${text}${']'.repeat(levels)}]}`

      for (const each of [text, nested]) expect((await read(each)).result).toEqual(parseJson(each))
    },
  )

  property.prop([document, fc.nat(), fc.constantFrom('', '"', '[', '}', ',', '1 2', '\\', ']}')], {
    numRuns: 2_000,
  })('refuses what parseJson refuses, at the same place', async (text, at, put) => {
    const place = at % (text.length + 1)
    const spoilt = text.slice(0, place) + put + text.slice(place + 1)

    expect((await read(spoilt)).result).toEqual(parseJson(spoilt))
  })

  it('keeps the elements of members with any name in their places', async () => {
    const text = '{"1":[{"a":1}, "x"],"0":["y",[2]],"__proto__":["z"],"in":{"b":["w"]}}'

    expect((await read(text)).result).toEqual({ ok: true, value: JSON.parse(text) })
  })

  it.each([
    ['blanks', `{"policies":[${' '.repeat(8_000_000)}]}`],
    [
      'policies',
      `{"policies":[${Array(1_000)
        .fill(`"${'x'.repeat(8_000)}"`)
        .join()}]}`,
    ],
    ['an error at the end', `{"policies":[${Array(400_000).fill('"x"').join()}]`],
  ])('lets others run while it reads %s', async (_title, text) => {
    expect((await read(text)).turns).toBeGreaterThan(6)
  })

  it('counts the values of the text and of each part', async () => {
    const text = '{"policies":[[1,2,3],{"a":[]},4],"dry_run":true}'
    const kindWith = async (maxValues: number, maxValuesOfPart: number) => {
      const { result } = await read(text, { maxValues, maxValuesOfPart })
      return result.ok ? 'ok' : result.problem
    }

    expect(await kindWith(10, 4)).toBe('ok')
    expect(await kindWith(9, 4)).toEqual({ kind: 'too_many_values', maxValues: 9 })
    expect(await kindWith(10, 3)).toEqual({
      kind: 'too_many_values',
      maxValues: 3,
      place: 'policies[0]',
    })
  })
})
