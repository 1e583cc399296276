import { parseJson, parseLargeJson } from '@palisade/protocol'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { writtenJson } from './written-json.ts'

const PLENTY = {
  maxValues: 1_000_000,
  maxValuesOfPart: 1_000_000,
  maxBytesOfPart: 16_000_000,
  maxMembers: 1_000_000,
}

/** The result for a text, and the number of pauses for other work. */
async function read(text: string, limits = PLENTY) {
  let turns = 0
  const pause = async () => {
    turns += 1
  }
  const result = await parseLargeJson(new TextEncoder().encode(text), {
    ...limits,
    // Dirty memory, as an allocator may return it.
    allocate: (bytes) => new Uint8Array(bytes).fill('"'.charCodeAt(0)),
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
/** An object of arrays, which are parsed in parts. */
const document = fc.oneof(
  fc.array(member, { maxLength: 3 }).map((all) => `{${all.map((each) => each.join(': ')).join()}}`),
  writtenJson,
)

describe('parseLargeJson', () => {
  property.prop([document, fc.nat(34)], { numRuns: 2_000 })(
    'parseLargeJson ≡ parseJson',
    async (text, levels) => {
      const nested = `{"in":[${'['.repeat(levels)}${text}${']'.repeat(levels)}]}`

      for (const each of [text, nested]) expect((await read(each)).result).toEqual(parseJson(each))
    },
  )

  property.prop([document, fc.nat(), fc.constantFrom('', '"', '[', '}', ',', '1 2', '\\', ']}')], {
    numRuns: 2_000,
  })('refuses the same texts as parseJson, at the same offset', async (text, at, put) => {
    const place = at % (text.length + 1)
    const spoilt = text.slice(0, place) + put + text.slice(place + 1)

    expect((await read(spoilt)).result).toEqual(parseJson(spoilt))
  })

  it('keeps the order of elements and members for any names', async () => {
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
    ['many parts of a byte', `{"policies":[${Array(1_000_000).fill('1').join()}]}`],
  ])('yields to other work while it reads %s', async (_title, text) => {
    expect((await read(text)).turns).toBeGreaterThan(text.length / 100_000)
  })

  it.each([
    ['blanks', ' '],
    ['lines', '\n'],
  ])('yields to other work while it looks for an error behind %s', async (_title, blank) => {
    const text = blank.repeat(8_000_000)
    const good = await read(`{"policies":[${text}]}`)
    const bad = await read(`{"policies":[${text}],}`)

    expect(bad.result.ok).toBe(false)
    expect(bad.turns - good.turns).toBeGreaterThan(text.length / 1_000_000)
  })

  it('counts the values of the text and of each part', async () => {
    const text = '{"policies":[[1,2,3,4,5,6],{"a":[]},7],"dry_run":true}'
    const kindWith = async (maxValues: number, maxValuesOfPart: number) => {
      const { result } = await read(text, { ...PLENTY, maxValues, maxValuesOfPart })
      return result.ok ? 'ok' : result.problem
    }

    expect(await kindWith(13, 7)).toBe('ok')
    expect(await kindWith(12, 7)).toEqual({ kind: 'too_many_values', most: 12 })
    expect(await kindWith(13, 6)).toEqual({
      kind: 'too_many_values',
      most: 6,
      place: 'policies[0]',
    })
  })

  it('counts each part as a value of the text around it', async () => {
    const text = '{"policies":[1,2,3]}'
    const limit = async (maxValuesOfPart: number) =>
      (await read(text, { ...PLENTY, maxValuesOfPart })).result

    expect(await limit(5)).toEqual({ ok: true, value: JSON.parse(text) })
    expect(await limit(4)).toEqual({ ok: false, problem: { kind: 'too_many_values', most: 4 } })
  })

  it.each([
    // White space between tokens counts as one blank at most.
    ['a part', `{"policies":["a",  "${'x'.repeat(98)}"   ]}`, 101, 'policies[1]'],
    ['the text around the parts', `{"policies":["a"],   "b":"${'x'.repeat(98)}"}`, 122, undefined],
  ])('counts the bytes of %s', async (_title, text, bytes, place) => {
    const limit = async (maxBytesOfPart: number) =>
      (await read(text, { ...PLENTY, maxBytesOfPart })).result

    expect(await limit(bytes)).toEqual({ ok: true, value: JSON.parse(text) })
    expect(await limit(bytes - 1)).toEqual({
      ok: false,
      problem: {
        kind: 'too_many_bytes',
        most: bytes - 1,
        ...(place === undefined ? {} : { place }),
      },
    })
  })

  it.each([
    ['a part', '{"policies":[{"a":1},[{"a":{"x":1},"b":2,"c":3}]]}', 'policies[1]'],
    ['the text around the parts', '{"policies":[{"a":1}],"b":2,"c":3}', undefined],
    ['a repeated member', '{"policies":[{"a":1,"a":1,"a":1}]}', 'policies[0]'],
  ])('counts the members of an object in %s', async (_title, text, place) => {
    const limit = async (maxMembers: number) => (await read(text, { ...PLENTY, maxMembers })).result

    expect(await limit(3)).toEqual(parseJson(text))
    expect(await limit(2)).toEqual({
      ok: false,
      problem: { kind: 'too_many_members', most: 2, ...(place === undefined ? {} : { place }) },
    })
  })
})
