import { BUNDLE_FORMAT, bundleSchema, parseJson } from '@palisade/protocol'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { unpackBundle } from '../../../../agent/src/sync/update/open-archive.ts'

const HASH = '0123456789abcdef'.repeat(4)

/** A string with every kind of escape, needed or not. */
const quoted = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text).slice(1, -1)),
      fc.constantFrom(
        '\\"',
        '\\\\',
        '\\/',
        '\\n',
        '\\u0041',
        '\\ud83d\\ude00',
        '\\ud83d',
        '😀',
        '\ufeff',
      ),
    ),
    { maxLength: 6 },
  )
  .map((units) => `"${units.join('')}"`)
const blank = fc.constantFrom('', '', ' ', '\n\t', '\r\n  ')
const fileName = fc.constantFrom(
  '"metadata/timestamp.json"',
  '"metadata/1.root.json"',
  '"metadata/\\u0032.root.json"',
  '"metadata/2.root.json"',
  `"targets/policies/${HASH}.p.json"`,
)

function written(members: readonly string[], space: string): string {
  return `${space}{${space}${members.join(`${space},${space}`)}${space}}${space}`
}

/** Bundles in any JSON notation; a few repeat a file. */
const bundle = fc
  .record({
    assignment: quoted,
    files: fc.array(fc.tuple(fileName, quoted), { maxLength: 5 }),
    space: blank,
    order: fc.shuffledSubarray([0, 1, 2], { minLength: 3 }),
  })
  .map(({ assignment, files, space, order }) => {
    const member = ([name, value]: readonly [string, string]) => `${name}${space}:${space}${value}`
    const all = [
      member(['"format"', JSON.stringify(BUNDLE_FORMAT)]),
      member(['"assignm\\u0065nt"', assignment]),
      member(['"files"', written(files.map(member), space)]),
    ]
    return written(
      order.map((index) => all[index] ?? ''),
      space,
    )
  })

function cut(text: Uint8Array, size: number): Uint8Array[] {
  const chunks: Uint8Array[] = []
  for (let start = 0; start < text.length; start += size)
    chunks.push(text.subarray(start, start + size))
  return chunks
}

/** The texts of a bundle, or null if it is refused. */
async function unpack(text: string | Uint8Array, size: number): Promise<object | null> {
  const unpacked = await unpackBundle(cut(Buffer.from(text), size), 'bundle file')
  if (unpacked.kind === 'bundle')
    return { assignment: unpacked.assignment, files: Object.fromEntries(unpacked.files) }
  expect(unpacked.code).toBe('malformed')
  return null
}

/** The same with a general JSON parser. */
function parse(text: string): object | null {
  const json = parseJson(text)
  const parsed = json.ok ? bundleSchema.safeParse(json.value) : null
  return parsed?.data === undefined
    ? null
    : { assignment: parsed.data.assignment, files: parsed.data.files }
}

const chunkSize = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(100_000))

describe('a bundle that is unpacked', () => {
  property.prop([bundle, chunkSize], { numRuns: 1_000 })(
    'yields the same texts as a JSON parser, wherever its chunks are cut',
    async (text, size) => {
      expect(await unpack(text, size)).toEqual(parse(text))
    },
  )

  property.prop(
    [
      bundle,
      chunkSize,
      fc.nat(),
      fc.constantFrom('', '"', '{', '}', '[', ',', ':', '1', 'null', '\\', '\\x', '\n', '\0'),
    ],
    { numRuns: 3_000 },
  )('is refused exactly when a JSON parser refuses it', async (text, size, at, put) => {
    const place = at % (text.length + 1)
    const spoilt = Buffer.from(text.slice(0, place) + put + text.slice(place + 1)).toString()

    expect(await unpack(spoilt, size)).toEqual(parse(spoilt))
  })

  property.prop([bundle, chunkSize, fc.nat()], { numRuns: 1_000 })(
    'is refused when it is cut off',
    async (text, size, at) => {
      const complete = Buffer.from(text.trimEnd())

      expect(await unpack(complete.subarray(0, at % complete.length), size)).toBeNull()
    },
  )

  it.each<[string, Uint8Array]>([
    ['a byte that starts no character', Buffer.from([0xff])],
    ['half a character', Buffer.from('é').subarray(0, 1)],
    ['a surrogate', Buffer.from([0xed, 0xa0, 0x80])],
  ])('is refused with %s in a text', async (_what, bytes) => {
    const head = Buffer.from(`{"format":"${BUNDLE_FORMAT}","assignment":"`)
    const text = Buffer.concat([head, bytes, Buffer.from('","files":{}}')])

    for (const size of [1, 100_000]) expect(await unpack(text, size)).toBeNull()
    expect(await unpack(Buffer.concat([head, Buffer.from('é","files":{}}')]), 1)).not.toBeNull()
  })
})
