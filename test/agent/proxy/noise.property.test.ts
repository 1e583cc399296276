import { fc } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { casesOfRun } from '../../lanes/run-size.ts'
import { bundleOf } from '../fixture/bundle.ts'
import { openRaw, parseRaw, readAll, startOrigin, startProxy } from '../fixture/proxy.ts'

/** Requests in which every part may be wrong; `PORT` stands for the allowed origin's port. */
const line = fc.constantFrom('GET ', 'POST ', 'CONNECT ', 'OPTIONS ', 'get ', '')
const target = fc.constantFrom(
  'http://127.0.0.1:PORT/',
  'http://127.0.0.2:PORT/',
  '127.0.0.1:PORT',
  '127.0.0.2:PORT',
  '/',
  '*',
  'http://127.0.0.1:PORT@127.0.0.2:PORT/',
  'http://127.1:PORT/',
  'https://127.0.0.1:PORT/',
  '',
)
const field = fc.constantFrom(
  'Host: 127.0.0.1:PORT',
  'Host: 127.0.0.2:PORT',
  'Host:',
  'Content-Length: 3',
  'Content-Length: 0',

  'Transfer-Encoding: chunked',
  'Transfer-Encoding: xchunked',
  'Connection: close',
  'Upgrade: x',
  'Connection: Upgrade',
  'Expect: 100-continue',
  ' folded',
  'Bad Name: 1',
  'X: \0',
  'X: \xff',
)
const body = fc.constantFrom(
  '',
  'abc',
  '3\r\nabc\r\n0\r\n\r\n',
  'GET http://127.0.0.2:PORT/ HTTP/1.1\r\n\r\n',
)
const usual = fc.constantFrom(
  ['GET http://127.0.0.1:PORT/ HTTP/1.1', 'Host: 127.0.0.1:PORT'],
  ['GET http://127.0.0.2:PORT/ HTTP/1.1', 'Host: 127.0.0.2:PORT'],
  ['CONNECT 127.0.0.1:PORT HTTP/1.1'],
)
const unusual = fc
  .tuple(line, target, fc.constantFrom(' HTTP/1.1', ' HTTP/1.0', ' HTTP/9.9', ''))
  .map((pieces) => [pieces.join('')])
const noise = fc
  .tuple(fc.oneof(usual, unusual), fc.array(field, { maxLength: 4 }), body)
  .map(([head, fields, rest]) => [...head, ...fields, '', rest].join('\r\n'))

/** One of each outcome that must occur. */
const EXAMPLES: [string][] = [
  ['GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\n'],
  ['GET http://127.0.0.2:PORT/ HTTP/1.1\r\nHost: 127.0.0.2:PORT\r\n\r\n'],
  ['GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.2:PORT\r\n\r\n'],
]

describe('any input of a client', () => {
  it('gets an HTTP answer or no answer, and never reaches a denied address', async () => {
    const allowed = await startOrigin('127.0.0.1')
    const denied = await startOrigin('127.0.0.2', allowed.port)
    const { port, errors, live } = await startProxy(bundleOf(['allow', 'connect:tcp', '127.0.0.1']))
    const statuses = new Set<number>()

    await fc.assert(
      fc.asyncProperty(noise, async (text) => {
        const socket = await openRaw(port, text.replaceAll('PORT', String(allowed.port)))
        socket.end()
        const { status } = parseRaw(await readAll(socket))
        statuses.add(status)
      }),
      { numRuns: casesOfRun(400), examples: EXAMPLES },
    )

    expect(denied.requests).toHaveLength(0)
    expect(errors).toEqual([])
    // Both outcomes must occur, or the property is empty.
    expect(allowed.requests.length).toBeGreaterThan(0)
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 403]))
    await expect.poll(() => live.size()).toBe(0)
  })
})
