import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createIssuerKeys,
  FRESH_MS,
  LONGEST_MS,
  PAUSE_MS,
  type IssuerKeys,
} from '../../../../server/src/identity/oidc/issuer-keys.ts'
import { createKey, startTestIssuer, type KeyPair, type TestIssuer } from './test-issuer.ts'

const MAX_BYTES = 4096
/** For what comes, however busy the machine is. */
const PATIENT_MS = 60_000
/** For what never does. */
const IMPATIENT_MS = 300

describe('the keys of the issuer', () => {
  let issuer: TestIssuer
  let first: KeyPair
  let second: KeyPair
  let nowMs: number
  let keys: IssuerKeys
  let warnings: string[]

  beforeEach(async () => {
    issuer = await startTestIssuer()
    first = await createKey('k1')
    second = await createKey('k2')
    issuer.publish(first)
    nowMs = Date.parse('2026-11-21T08:00:00Z')
    warnings = []
    keys = open()
  })

  const open = (name = issuer.url, timeoutMs = PATIENT_MS): IssuerKeys =>
    createIssuerKeys({
      issuer: name,
      now: () => new Date(nowMs),
      // Not the message, which would contain what some reasons say.
      log: { warn: (detail: unknown) => void warnings.push(JSON.stringify(detail)) },
      limits: { timeoutMs, maxBytes: MAX_BYTES },
    })

  const has = async (kid: string): Promise<boolean> => (await keys.find(kid)) !== null
  const fetches = (): number => issuer.seen.filter((path) => path === '/keys').length

  it('are fetched when first asked for, once for all who ask', async () => {
    expect(issuer.seen).toEqual([])

    const found = await Promise.all([has('k1'), has('k1'), has('k1')])

    expect(found).toEqual([true, true, true])
    expect(issuer.seen).toEqual(['/discovery', '/keys'])
  })

  it('are fetched again for a key that is new', async () => {
    await has('k1')
    issuer.publish(first, second)
    nowMs += PAUSE_MS

    expect(await has('k2')).toBe(true)
  })

  it('are not fetched more than once in 30 s, whatever is asked for', async () => {
    for (let index = 0; index < 50; index += 1) expect(await has(`x${index}`)).toBe(false)
    expect(fetches()).toBe(1)

    nowMs += PAUSE_MS - 1
    await has('x')
    expect(fetches()).toBe(1)

    nowMs += 1
    await has('x')
    expect(fetches()).toBe(2)
  })

  it('are not fetched more often while the issuer fails', async () => {
    issuer.answer('/keys', (_, response) => response.writeHead(500).end())

    for (let index = 0; index < 50; index += 1) expect(await has(`x${index}`)).toBe(false)

    expect(fetches()).toBe(1)
  })

  it('are forgotten ten minutes after they are withdrawn', async () => {
    await has('k1')
    issuer.publish(second)

    nowMs += FRESH_MS - 1
    expect(await has('k1')).toBe(true)
    nowMs += 1

    expect(await has('k1')).toBe(false)
  })

  it('differ when another key takes the same name', async () => {
    const before = await keys.find('k1')
    issuer.publish(await createKey('k1'))
    nowMs += FRESH_MS

    expect((await keys.find('k1'))?.thumbprint).not.toBe(before?.thumbprint)
  })

  it('serve for an hour while the issuer is away, and no longer', async () => {
    await has('k1')
    await issuer.stop()

    nowMs += LONGEST_MS - 1
    expect(await has('k1')).toBe(true)
    nowMs += 1

    expect(await has('k1')).toBe(false)
  })

  it('are found when the issuer comes up later', async () => {
    await issuer.stop()
    expect(await has('k1')).toBe(false)
    expect(warnings).toHaveLength(1)

    await issuer.start()
    expect(await has('k1')).toBe(false)
    nowMs += PAUSE_MS

    expect(await has('k1')).toBe(true)
  })

  it('are nobody when two share a name', async () => {
    const twin = await createKey('k1')
    issuer.publish(first, twin, second)

    expect([await has('k1'), await has('k2')]).toEqual([false, true])
  })

  it('are only those that may sign', async () => {
    const jwks = [
      { ...first.jwk, use: 'enc' },
      { kty: 'oct', kid: 'k3', k: 'AAAA' },
      { kty: 'EC', kid: 'k4' },
      'no key',
      null,
      second.jwk,
    ]
    issuer.answer('/keys', (_, response) => response.end(JSON.stringify({ keys: jwks })))

    expect([await has('k1'), await has('k3'), await has('k4'), await has('k2')]).toEqual([
      false,
      false,
      false,
      true,
    ])
  })

  const reply =
    (body: unknown, status = 200, headers: Record<string, string> = {}): RequestListener =>
    (_request, response) =>
      void response
        .writeHead(status, headers)
        .end(typeof body === 'string' ? body : JSON.stringify(body))
  const giant: RequestListener = (_request, response) => {
    response.on('error', () => {})
    // Without end: only a reader that counts comes back before the time is over.
    response.write(`{"keys":[],"pad":"${'x'.repeat(MAX_BYTES)}`)
  }
  const bomb: RequestListener = (_request, response) =>
    void response
      .writeHead(200, { 'content-encoding': 'gzip' })
      .end(gzipSync(`{"keys":[],"pad":"${'x'.repeat(1_000_000)}"}`))
  const silent: RequestListener = () => {}
  const slow: RequestListener = (_request, response) => void response.write('{"keys":')

  describe.each(['/discovery', '/keys'] as const)('with a broken answer of %s', (path) => {
    it.each<[string, RequestListener, string]>([
      ['redirects', reply('', 302, { location: '/keys' }), 'could not be fetched'],
      ['fails', reply('', 500), 'status 500'],
      ['is HTML', reply('<!doctype html>'), 'is no JSON'],
      ['is no UTF-8', (_, response) => response.end(Buffer.of(0x22, 0xff, 0x22)), 'could not be'],
      ['is of another shape', reply([]), ' is no '],
      ['is giant', giant, 'longer than 4096 bytes'],
      ['is giant when unpacked', bomb, 'longer than 4096 bytes'],
      ['never comes', silent, 'took longer than 300 ms'],
      ['never ends', slow, 'took longer than 300 ms'],
    ])('are not there when it %s', async (_title, listener, reason) => {
      issuer.answer(path, listener)
      if (listener === silent || listener === slow) keys = open(issuer.url, IMPATIENT_MS)

      expect(await has('k1')).toBe(false)
      expect(warnings.join('\n')).toContain(reason)
    })

    it('are not there when it redirects to a good one', async () => {
      const document = { issuer: issuer.url, jwks_uri: issuer.url.replace('/realm', '/keys') }
      issuer.answer('/moved', reply(path === '/keys' ? { keys: [first.jwk] } : document))
      issuer.answer(path, reply('', 302, { location: '/moved' }))

      expect(await has('k1')).toBe(false)
      expect(issuer.seen).not.toContain('/moved')
    })

    it('serve on after they were fetched', async () => {
      await has('k1')
      issuer.answer(path, reply('', 500))
      nowMs += FRESH_MS

      expect(await has('k1')).toBe(true)
    })
  })

  it.each([
    ['another issuer', () => ({ issuer: 'https://other.example' }), 'describes another issuer'],
    ['itself with a slash', () => ({ issuer: `${issuer.url}/` }), 'describes another issuer'],
    ['keys without TLS', () => ({ jwks_uri: 'http://keys.example/' }), 'must begin with'],
    ['keys in a file', () => ({ jwks_uri: 'file:///etc/passwd' }), 'must begin with'],
    ['keys with a password', () => ({ jwks_uri: 'https://a:b@keys.example/' }), 'must begin with'],
    ['keys nowhere', () => ({ jwks_uri: 7 }), 'is no discovery document'],
  ])('are not there when discovery names %s', async (_title, wrong, reason) => {
    const document = { issuer: issuer.url, jwks_uri: `${issuer.url}/keys`, ...wrong() }
    issuer.answer('/discovery', reply(document))

    expect(await has('k1')).toBe(false)
    expect(issuer.seen).toEqual(['/discovery'])
    expect(warnings.join('\n')).toContain(reason)
  })

  it('are not there when there are more than 100', async () => {
    issuer.answer('/keys', reply({ keys: Array.from({ length: 101 }, () => 0) }))

    expect(await has('k1')).toBe(false)
  })

  it('are found when the name of the issuer ends in a slash', async () => {
    const name = `${issuer.url}/`
    issuer.answer(
      '/discovery',
      reply({ issuer: name, jwks_uri: issuer.url.replace('/realm', '/keys') }),
    )
    keys = open(name)

    expect(await has('k1')).toBe(true)
  })
})
