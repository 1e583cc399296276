import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { securityHeaders } from '../../../server/src/http/security-headers.ts'
import { overloaded } from '../../../server/src/operations/overload/overload.ts'
import {
  withShortcut,
  type ReadyAnswer,
  type ReadyRefusal,
} from '../../../server/src/http/shortcut.ts'

const BODY = '{"known":true}'

describe('a shortcut', () => {
  let isOpen: boolean
  let counted: (number | null)[]
  let asked: string[]
  let answer: ReadyAnswer | ReadyRefusal | null
  const server = createServer(
    { requireHostHeader: false },
    withShortcut((_request, response) => void response.writeHead(418).end(), {
      shortcut: ({ url = '' }) => {
        asked.push(url)
        return url === '/known' ? answer : null
      },
      newRequestId: () => 'req_1',
      constant: securityHeaders({ hasTls: true }),
      isOpen: () => isOpen,
    }),
  )

  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterAll(() => void server.close())

  beforeEach(() => {
    isOpen = true
    counted = []
    asked = []
    const tally = { count: (status: number | null) => void counted.push(status) }
    answer = { kind: 'answer', tally, etag: '"1"', cacheControl: 'private', body: BODY }
  })

  it('answers with the constant headers and is counted', async () => {
    const text = await exchange('GET /known HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(headersOf(text)).toMatchObject({
      'cache-control': 'private',
      'content-length': '14',
      'content-type': 'application/json',
      etag: '"1"',
      'strict-transport-security': 'max-age=31536000',
      'x-content-type-options': 'nosniff',
      'x-request-id': 'req_1',
    })
    expect(text.endsWith(BODY)).toBe(true)
    expect(counted).toEqual([200])
  })

  it('omits the headers about a body without one', async () => {
    if (answer?.kind === 'answer') answer = { ...answer, body: null }

    const text = await exchange('GET /known HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

    expect(text).toMatch(/^HTTP\/1\.1 304 Not Modified\r\n/)
    expect(Object.keys(headersOf(text)).toSorted()).toEqual([
      'cache-control',
      'connection',
      'date',
      'etag',
      'strict-transport-security',
      'x-request-id',
    ])
    expect(counted).toEqual([304])
  })

  it('refuses with the envelope and all headers, and is counted', async () => {
    if (answer !== null) answer = { kind: 'refusal', tally: answer.tally, error: overloaded(42) }

    const text = await exchange('GET /known HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

    expect(text).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/)
    expect(headersOf(text)).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'retry-after': '42',
      'strict-transport-security': 'max-age=31536000',
      'x-content-type-options': 'nosniff',
      'x-request-id': 'req_1',
    })
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toEqual({
      error: {
        code: 'internal',
        reason: 'overloaded',
        message: 'the server is overloaded; try again later',
        request_id: 'req_1',
      },
    })
    expect(counted).toEqual([503])
  })

  it.each([
    ['has an unknown path', 'GET /other HTTP/1.1\r\nHost: a'],
    ['is a HEAD', 'HEAD /known HTTP/1.1\r\nHost: a'],
    ['is a POST', 'POST /known HTTP/1.1\r\nHost: a\r\nContent-Length: 0'],
    ['has a body', 'GET /known HTTP/1.1\r\nHost: a\r\nContent-Length: 1'],
    [
      'has a body of unknown length',
      'GET /known HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked',
    ],
    ['has no host', 'GET /known HTTP/1.1'],
    ['has two hosts', 'GET /known HTTP/1.1\r\nHost: a\r\nhOST: a'],
  ])('leaves a request to Fastify that %s', async (_title, head) => {
    const text = await exchange(`${head}\r\nConnection: close\r\n\r\n`)

    expect(text).toMatch(/^HTTP\/1\.1 418 /)
    expect(counted).toEqual([])
  })

  it('leaves every request to Fastify while it is not open', async () => {
    isOpen = false

    const text = await exchange('GET /known HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

    expect(text).toMatch(/^HTTP\/1\.1 418 /)
    expect(asked).toEqual([])
  })

  it('leaves a request to Fastify that waits for an earlier answer on its connection', async () => {
    const one = 'GET /known HTTP/1.1\r\nHost: a\r\n'

    const text = await exchange(`${one}\r\n${one}Connection: close\r\n\r\n`)

    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 418'])
  })

  async function exchange(text: string): Promise<string> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const received: Buffer[] = []
    socket.on('data', (chunk: Buffer) => received.push(chunk))
    socket.write(text)
    await once(socket, 'close')
    return Buffer.concat(received).toString()
  }
})

function headersOf(text: string): Record<string, string> {
  const [head = ''] = text.split('\r\n\r\n')
  const lines = head.split('\r\n').slice(1)
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
    }),
  )
}
