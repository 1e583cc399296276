import { describe, expect, it, onTestFinished } from 'vitest'
import { parseTrustedProxies } from '../../../server/src/http/trusted-proxies.ts'
import { captureLog } from '../operations/log/log-lines.ts'
import { openTestServer } from '../test-server.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openGovernedApp } from './governed-app.ts'

describe('the setting', () => {
  it.each([
    ['off', { kind: 'none' }],
    ['2', { kind: 'hops', hops: 2 }],
    ['10.0.0.0/8', { kind: 'ranges', ranges: ['10.0.0.0/8'] }],
    ['192.0.2.7, ::1,fd00::/8', { kind: 'ranges', ranges: ['192.0.2.7', '::1', 'fd00::/8'] }],
  ])('%s is accepted', (text, trusted) => {
    expect(parseTrustedProxies(text)).toEqual(trusted)
  })

  it.each([
    '',
    'true',
    'loopback',
    '0',
    '-1',
    '10',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '0.0.0.0/0',
    '::/0',
    'fe80::1%eth0',
    '10.0.0.1,',
    'example.com',
  ])('%s is refused', (text) => {
    expect(parseTrustedProxies(text)).toBeNull()
  })
})

const atEnd = atEndOfTests()
const opened = new Map<string, ReturnType<typeof openLogged>>()

/** One application for each setting. */
async function openLogged(trusted: string) {
  const log = captureLog()
  const trustedProxies = parseTrustedProxies(trusted) ?? { kind: 'none' }
  const governed = await openGovernedApp({ log: log.stream, trustedProxies })
  atEnd(() => governed.close())
  return { governed, log }
}

/** The address that the server uses for a client. */
async function addressFor(
  trusted: string,
  remoteAddress: string,
  forwarded?: string,
): Promise<unknown> {
  const found = opened.get(trusted) ?? openLogged(trusted)
  opened.set(trusted, found)
  const { governed, log } = await found
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  const { statusCode } = await governed.send({ as: null, url: '/nowhere', remoteAddress, headers })
  return statusCode === 400 ? 'refused' : log.requests().at(-1)?.['address']
}

describe('the address of a client', () => {
  it('is that of its connection without a trusted proxy, whatever it sends', async () => {
    expect(await addressFor('off', '192.0.2.7', '198.51.100.1')).toBe('192.0.2.7')
  })

  it('is the one that a trusted proxy saw', async () => {
    expect(await addressFor('10.0.0.0/8', '10.1.2.3', '198.51.100.1')).toBe('198.51.100.1')
    expect(await addressFor('::1', '::1', '2001:db8::7')).toBe('2001:db8::7')
    expect(await addressFor('10.0.0.0/8', '10.1.2.3')).toBe('10.1.2.3')
  })

  it('is not an entry that the client has put in front', async () => {
    const forged = '203.0.113.9, 198.51.100.1'
    expect(await addressFor('10.0.0.0/8', '10.1.2.3', forged)).toBe('198.51.100.1')
    expect(await addressFor('1', '10.1.2.3', forged)).toBe('198.51.100.1')
  })

  it('is that of the connection when the peer is not a trusted proxy', async () => {
    expect(await addressFor('10.0.0.0/8', '192.0.2.7', '10.9.9.9, 198.51.100.1')).toBe('192.0.2.7')
  })

  it('is found behind exactly the configured number of proxies', async () => {
    const chain = '203.0.113.9, 198.51.100.1, 10.0.0.2'
    expect(await addressFor('2', '10.0.0.1', chain)).toBe('198.51.100.1')
    expect(await addressFor('3', '10.0.0.1', chain)).toBe('203.0.113.9')
    expect(await addressFor('10.0.0.0/8', '10.0.0.1', chain)).toBe('198.51.100.1')
    expect(await addressFor('2', '10.0.0.1')).toBe('10.0.0.1')
  })

  it('is never a malformed address', async () => {
    for (const text of ['<script>', '198.51.100.1:4711', 'unknown', '1.2.3', 'a'.repeat(4000)])
      expect(await addressFor('10.0.0.0/8', '10.1.2.3', text), text).toBe('refused')
    expect(await addressFor('off', '10.1.2.3', '<script>')).toBe('10.1.2.3')
  })
})

it('throttles by the client that a trusted proxy saw', async () => {
  const settings = { PALISADE_TRUST_PROXY: '127.0.0.1' }
  const { server } = await openTestServer(onTestFinished, { settings })
  const attempt = async (client: string, name: string) =>
    (
      await server.app.inject({
        method: 'POST',
        url: '/v2/auth/token',
        headers: { 'x-forwarded-for': client },
        payload: { username: name, password: 'pal_pat_wrong' },
      })
    ).statusCode
  for (let count = 0; count < 20; count += 1)
    expect(await attempt('198.51.100.1', `user-${count}`)).toBe(401)

  expect(await attempt('198.51.100.1', 'another')).toBe(429)
  expect(await attempt('203.0.113.9, 198.51.100.1', 'another')).toBe(429)
  expect(await attempt('198.51.100.2', 'another')).toBe(401)
})

it.each([
  ['none', { kind: 'none' }, 'not an address', 200],
  ['an address', { kind: 'hops', hops: 1 }, '192.0.2.1, 2001:db8::1', 200],
  ['no address', { kind: 'hops', hops: 1 }, '192.0.2.1, not an address', 400],
  ['no address, from a trusted address', { kind: 'ranges', ranges: ['127.0.0.1'] }, 'unknown', 400],
] as const)(
  'a shortcut checks the forwarded address as well: %s',
  async (_title, trustedProxies, sent, status) => {
    const tally = { count: () => undefined }
    const answer = {
      kind: 'answer',
      tally,
      etag: '"1"',
      cacheControl: 'private',
      body: '{}',
    } as const
    const governed = await openGovernedApp({ trustedProxies, shortcut: () => answer })
    onTestFinished(() => governed.close())
    const url = await governed.app.listen({ host: '127.0.0.1', port: 0 })

    const { status: answered } = await fetch(url, { headers: { 'x-forwarded-for': sent } })

    expect(answered).toBe(status)
  },
)
