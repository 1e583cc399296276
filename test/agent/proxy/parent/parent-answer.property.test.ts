import { fc } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { casesOfRun } from '../../../lanes/run-size.ts'
import { connectTo, openRaw, parseRaw, readAll } from '../../fixture/proxy.ts'
import { startWith } from './parent-scene.ts'

describe('the answer of a parent proxy', () => {
  it('opens a tunnel only if it is a complete head with a 2xx status', async () => {
    let text = ''
    const proxy = await startWith((socket) => socket.end(text, 'latin1'))
    const pieces = fc.constantFrom(
      'HTTP/1.1',
      'HTTP/1.0',
      ' ',
      '200',
      '204',
      '407',
      '2000',
      '\r\n',
      '\r\n\r\n',
      '\n',
      '\0',
      ':',
      'A: b',
      'OK',
      'É',
    )
    const answers = fc.oneof(
      fc.array(pieces, { maxLength: 9 }).map((parts) => parts.join('')),
      fc
        .array(pieces, { maxLength: 5 })
        .map((parts) => `HTTP/1.1 200 OK\r\n${parts.join('')}\r\n\r\n`),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    )
    const seen = new Set<number>()

    await fc.assert(
      fc.asyncProperty(answers, async (answer) => {
        text = answer
        const { status } = parseRaw(
          await readAll(await openRaw(proxy.port, connectTo('x.a.test:443'))),
        )
        seen.add(status)
        expect(status).toBe(isEstablished(answer) ? 200 : 502)
      }),
      { numRuns: casesOfRun(500), examples: [['HTTP/1.1 200 OK\r\n\r\n'], ['']] },
    )

    expect(seen).toEqual(new Set([200, 502]))
    expect(proxy.errors).toEqual([])
    expect(new Set(proxy.dialled)).toEqual(new Set([`127.0.0.1:${proxy.parentPort}`]))
  })
})

/** The rule in other words: a status line with 2xx, then fields, each line ended by CRLF. */
function isEstablished(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return false
  const [line = '', ...fields] = answer.slice(0, end).split('\r\n')
  const [version = '', status = ''] = line.split(' ')
  const isLine = /^HTTP\/1\.[01]$/.test(version) && /^2\d\d$/.test(status)
  return (
    isLine &&
    !/[\r\n\0]/.test(line + fields.join('')) &&
    fields.every(
      (field) => /^[A-Za-z0-9]+$/.test(field.split(':', 1)[0] ?? '') && field.includes(':'),
    )
  )
}
