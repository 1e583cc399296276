import { MAX_UPLOAD_LINE, MAX_UPLOAD_LINES, MAX_UPLOAD_TEXT_BYTES } from '@palisade/protocol'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readBatch } from '../../../../server/src/evidence/ingest/read-batch.ts'
import { bodyOf, HASH, HEADER, linesOf, recordOf, textOf } from './batch-text.ts'

const CONNECT = { action: 'connect:tcp', host: 'a.example', port: 443 } as const
const LINES = linesOf([recordOf(), recordOf()])

describe('readBatch', () => {
  it.each([
    ['packed', bodyOf(textOf(HEADER, LINES))],
    [
      'plain',
      bodyOf('', { bytes: Buffer.from(textOf(HEADER, LINES)), contentEncoding: undefined }),
    ],
    ['without a last line feed', bodyOf(textOf(HEADER, LINES).trimEnd())],
    [
      'with parameters of its type',
      bodyOf(textOf(HEADER, LINES), { contentType: 'Application/X-NDJSON; charset=utf-8' }),
    ],
  ])('reads a batch %s', async (_title, body) => {
    await expect(readBatch(body)).resolves.toEqual({ header: HEADER, lines: LINES })
  })

  it('reads lines without a record', async () => {
    const lines = [
      { seq: 1, hash: HASH, time: '2026-11-21T08:00:00.000Z', lost: 4, reason: 'queue_full' },
      { seq: 9, hash: HASH, left_out: 12 },
    ]
    await expect(readBatch(bodyOf(textOf(HEADER, lines)))).resolves.toMatchObject({ lines })
  })

  it('reads canonical addresses', async () => {
    const lines = linesOf(
      ['192.0.2.7', '2001:db8::1', '64:ff9b::c000:207'].map((address) =>
        recordOf({ request: { ...CONNECT, address } }),
      ),
    )
    await expect(readBatch(bodyOf(textOf(HEADER, lines)))).resolves.toMatchObject({ lines })
  })

  it.each([
    ['no type', { contentType: undefined }, 415, 'send `Content-Type: application/x-ndjson`'],
    ['another type', { contentType: 'application/json' }, 415, '`application/json` is not'],
    ['another encoding', { contentEncoding: 'br' }, 415, 'Content-Encoding: gzip'],
    ['a body that is too large', { tooLarge: true }, 413, 'at most 1048576 bytes'],
    ['a body that is not gzip', { bytes: Buffer.from('{}') }, 400, 'not valid gzip'],
    ['a torn body', { bytes: gzipSync(textOf(HEADER, LINES)).subarray(0, 40) }, 400, 'gzip'],
  ])('refuses %s', async (_title, members, status, message) => {
    const failed = readBatch(bodyOf(textOf(HEADER, LINES), members))
    await expect(failed).rejects.toMatchObject({ status })
    await expect(failed).rejects.toThrow(message)
  })

  it('stops unpacking at the limit', async () => {
    const zeros = Buffer.alloc(MAX_UPLOAD_TEXT_BYTES + 1)
    await expect(readBatch(bodyOf(zeros))).rejects.toMatchObject({ status: 413 })
  })

  const refused: readonly (readonly [string, string, string])[] = [
    ['an empty text', '', 'line 1: is not JSON'],
    ['no lines', textOf(HEADER, []), 'a line after its header'],
    ['bytes that are not UTF-8', 'latin', 'not valid UTF-8'],
    ['a header without a boot', textOf({ ...HEADER, boot: '' }, LINES), 'line 1: `boot`'],
    ['an unknown member', textOf(HEADER, [{ ...LINES[0], user: 'x' }]), 'unknown member `user`'],
    [
      'an unknown member of a record',
      textOf(HEADER, [{ seq: 1, hash: HASH, record: { ...recordOf(), username: 'root' } }]),
      'line 2: unknown member `record.username`',
    ],
    ['a number twice', textOf(HEADER, [LINES[0], LINES[0]]), 'line 3: `seq` must be higher'],
    [
      'a number before the first',
      textOf({ ...HEADER, first: 5 }, LINES),
      'line 2: `seq` must be higher',
    ],
    [
      'a count below zero',
      textOf(HEADER, [{ seq: 1, hash: HASH, left_out: -1 }]),
      'line 2: `left_out`',
    ],
    [
      'a long name',
      textOf(
        HEADER,
        linesOf([recordOf({ request: { action: 'read', path: `/${'x'.repeat(5000)}` } })]),
      ),
      'line 2: `record.request',
    ],
    ...['no address', '192.0.2.007', '2001:DB8::1', '::ffff:192.0.2.7', 'fe80::1%eth0', ''].map(
      (address) =>
        [
          `the address \`${address}\``,
          textOf(HEADER, linesOf([recordOf({ request: { ...CONNECT, address } })])),
          'line 2: `record.request.address` must be an IP address in its canonical form',
        ] as const,
    ),
    [
      'a member twice',
      `${textOf(HEADER, [])}{"seq":1,"seq":2,"hash":"${HASH}","left_out":1}\n`,
      'line 2: member `seq` stands twice',
    ],
    [
      'a member of a record twice',
      textOf(HEADER, linesOf([recordOf()])).replace('"count":', '"count":9,"count":'),
      'line 2: member `count` stands twice',
    ],
    [
      'a member of the header twice',
      textOf(HEADER, LINES).replace('"first":', '"first":9,"first":'),
      'line 1: member `first` stands twice',
    ],
    ['four million lines', '\n'.repeat(MAX_UPLOAD_TEXT_BYTES), 'line 1: is not JSON'],
    [
      'a long line of nested arrays before it is parsed',
      `${textOf(HEADER, [])}${'['.repeat(2 ** 20)}${']'.repeat(2 ** 20)}`,
      'line 2: must have at most 65536 characters',
    ],
    [
      'a long list of rules before each is validated',
      `${textOf(HEADER, [])}{"record":{"rules":[${'{},'.repeat(2 ** 20)}{}]}}`,
      'line 2: must have at most 65536 characters',
    ],
    ['a header that is too long', 'x'.repeat(MAX_UPLOAD_LINE + 1), 'line 1: must have at most'],
    ['a line that is not JSON', `${textOf(HEADER, [])}{\n`, 'line 2: is not JSON'],
    ['a line of null', `${textOf(HEADER, [])}null\n`, 'line 2: '],
    [
      'too many lines',
      textOf(HEADER, linesOf(Array.from({ length: MAX_UPLOAD_LINES + 1 }, () => recordOf()))),
      'at most 5000 lines',
    ],
  ]
  it.each(refused)('refuses %s', async (_title, text, message) => {
    const bytes = text === 'latin' ? Buffer.from([0xff, 0x0a]) : text
    const failed = readBatch(bodyOf(bytes))
    await expect(failed).rejects.toMatchObject({ status: 400 })
    await expect(failed).rejects.toThrow(message)
  })
})
