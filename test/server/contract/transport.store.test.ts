import { errorEnvelopeSchema } from '@palisade/protocol'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fillPath, pathParameters } from './operations.ts'
import { exchangeRaw, UNTIL_ANSWERED, type RawAnswer } from './raw-exchange.ts'
import { kindOf, openTwoOrganizations, type TwoOrganizations } from './two-organizations.ts'

const POLICIES = '/v2/orgs/acme/governance/policies'
const MIB = 1024 * 1024
let world: TwoOrganizations
let port: number
let authorization: string
let count = 0

beforeAll(async () => {
  world = await openTwoOrganizations()
  await world.server.app.listen({ host: '127.0.0.1', port: 0 })
  port = (world.server.app.server.address() as AddressInfo).port
  authorization = `Bearer ${world.callers.owner}`
})
afterAll(() => world.close())

/** The head of a POST of a policy, with additional header lines. */
function postHead(...lines: string[]): string {
  return [
    `POST ${POLICIES} HTTP/1.1`,
    'Host: x',
    `Authorization: ${authorization}`,
    'Content-Type: application/json',
    'Connection: close',
    ...lines,
    '',
    '',
  ].join('\r\n')
}

function body(): string {
  count += 1
  return JSON.stringify({ name: `sent in its own way ${String(count)}` })
}

function chunked(...chunks: string[]): string {
  const all = chunks.map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`)
  return `${all.join('')}0\r\n`
}

/** Returns the only final answer; interim answers may precede it. */
function only(answers: readonly RawAnswer[]): RawAnswer {
  const final = answers.filter(({ status }) => status >= 200)
  expect(final).toHaveLength(1)
  return final[0] as RawAnswer
}

describe('a body on the wire', () => {
  it('may arrive in chunks, a byte at a time, and with trailers, which are ignored', async () => {
    const head = postHead('Transfer-Encoding: chunked')
    const trailers = 'Content-Type: text/plain\r\nAuthorization: Basic YTpi\r\nIf-Match: "0"\r\n'
    const answers = await exchangeRaw(port, [head, chunked(...body()), trailers, '\r\n'])
    expect(only(answers).status).toBe(201)
  })

  it('is requested with 100 when the client expects it', async () => {
    const text = body()
    const head = postHead('Expect: 100-continue', `Content-Length: ${String(text.length)}`)
    const answers = await exchangeRaw(port, [head, UNTIL_ANSWERED, text])
    expect(answers.map(({ status }) => status)).toEqual([100, 201])
  })

  it.each([
    ['of 1 MiB with its length', MIB, 201, false],
    ['of 1 MiB in chunks', MIB, 201, true],
    ['of one byte more with its length', MIB + 1, 413, false],
    ['of one byte more in chunks', MIB + 1, 413, true],
    ['of one byte less in chunks', MIB - 1, 201, true],
  ] as const)('%s is accepted or refused by its size', async (_title, size, status, inChunks) => {
    const text = body().padEnd(size)
    const answers = inChunks
      ? await exchangeRaw(port, [
          postHead('Transfer-Encoding: chunked'),
          `${chunked(text.slice(0, 1000), text.slice(1000))}\r\n`,
        ])
      : await exchangeRaw(port, [postHead(`Content-Length: ${String(size)}`), text])
    expect(only(answers).status).toBe(status)
  })

  it('is not read from an unauthenticated caller, who gets 401 at once', async () => {
    const head = postHead(`Content-Length: ${String(MIB)}`).replace(authorization, 'Bearer x')
    expect(only(await exchangeRaw(port, [head])).status).toBe(401)
  })

  it.each([
    ['two lengths that differ', ['Content-Length: 2', 'Content-Length: 3']],
    ['a length and chunks', ['Content-Length: 2', 'Transfer-Encoding: chunked']],
    ['a length below zero', ['Content-Length: -1']],
    ['a length that is not a number', ['Content-Length: 2x']],
    ['chunks that are not the last coding', ['Transfer-Encoding: chunked, gzip']],
    ['an unknown coding', ['Transfer-Encoding: cow']],
    ['a name with a space before the colon', ['Content-Length : 2']],
    ['a folded line', ['X-Folded: a\r\n b']],
  ])('with %s is refused, and the connection is closed', async (_title, lines) => {
    const answer = only(await exchangeRaw(port, [postHead(...lines), '{}']))
    expect(answer.status).toBe(400)
    expect(answer.headers.get('connection')).toBe('close')
    expect(errorEnvelopeSchema.parse(JSON.parse(answer.body)).error.code).toBe('invalid_argument')
  })

  it.each([
    ['a size that is not a number', 'zz\r\n{}\r\n0\r\n\r\n'],
    ['a size out of range', `${'f'.repeat(20)}\r\n{}`],
    ['more bytes than the size says', '1\r\n{}\r\n0\r\n\r\n'],
  ])('in chunks with %s is refused', async (_title, text) => {
    const answers = await exchangeRaw(port, [postHead('Transfer-Encoding: chunked'), text])
    expect(only(answers).status).toBe(400)
  })
})

describe('HEAD', () => {
  it('has the status and the headers of GET and no body, at every endpoint', async () => {
    // Metrics change with every request, including this one.
    const reads = world.document.operations.filter(
      ({ method, path }) => method === 'GET' && path !== '/metrics',
    )
    expect(reads.length).toBeGreaterThan(10)
    for (const { path } of reads) {
      const values = pathParameters(path).map((name) => [name, world.acme[kindOf(path, name)]])
      const url = fillPath(path, Object.fromEntries(values) as Record<string, string>)
      const get = await ask('GET', url)
      const head = await ask('HEAD', url)
      expect(head, url).toEqual({ ...get, headers: withoutLength(get, head), body: '' })
    }
  })

  it('is 304 for a policy that the caller has', async () => {
    const url = `${POLICIES}/${world.acme.policy_id}`
    const { etag } = (await ask('GET', url)).headers
    const known = await ask('HEAD', url, { 'if-none-match': String(etag) })
    expect(known).toMatchObject({ status: 304, body: '', headers: { etag } })
  })
})

/**
 * The headers of GET. The length of a stream is known at its end, so HEAD may leave it out.
 * RFC 9110, §9.3.2.
 */
function withoutLength(
  { headers }: { readonly headers: Record<string, unknown> },
  head: { readonly headers: Record<string, unknown> },
): Record<string, unknown> {
  if (headers['content-type'] !== 'application/x-ndjson') return headers
  const { 'content-length': _length, 'transfer-encoding': _encoding, ...rest } = headers
  const { 'transfer-encoding': encoding } = head.headers
  return encoding === undefined ? rest : { ...rest, 'transfer-encoding': encoding }
}

function ask(
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number | undefined; headers: Record<string, unknown>; body: string }> {
  return new Promise((resolve, reject) => {
    const all = { authorization, 'x-request-id': 'same', ...headers }
    const outgoing = request({ port, host: '127.0.0.1', method, path, headers: all }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => (text += String(chunk)))
      answer.on('end', () => {
        const { date: _date, ...rest } = answer.headers
        resolve({ status: answer.statusCode, headers: rest, body: text })
      })
    })
    outgoing.on('error', reject).end()
  })
}
