import { createLocalJWKSet, decodeProtectedHeader, importJWK, jwtVerify, SignJWT } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../../server/src/history/author.ts'
import type { SigningKeyRecord } from '../../../../server/src/store/records.ts'
import {
  retireAccessTokenKey,
  rotateAccessTokenKey,
} from '../../../../server/src/identity/tokens/rotate-access-token-key.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-21T08:00:00.250Z')

describe('an access token key', () => {
  let test: TestServer
  let elapsedMs: number
  let secret: string
  /** The key at the start, with its private part. */
  let first: SigningKeyRecord

  beforeEach(async () => {
    test = await openTestServer()
    elapsedMs = 0
    secret = (await test.createOrganization('acme', 'alice')).personal_token
    const [key] = await keys()
    if (key === undefined) throw new Error('there is no key')
    first = key
  })

  const now = () => new Date(START_MS + elapsedMs)
  const rotate = () =>
    rotateAccessTokenKey(createAuditedStore({ store: test.store, now }), OPERATOR, now())
  const retire = (kid: string) =>
    retireAccessTokenKey(createAuditedStore({ store: test.store, now }), OPERATOR, kid, now())
  const statusOf = async (as: string) =>
    (await test.send('GET', '/api/v1/orgs/acme/members', { as })).statusCode
  const kidOf = (token: string) => decodeProtectedHeader(token).kid

  function pass(ms: number): void {
    elapsedMs += ms
    test.advance(ms)
  }

  const keys = () => test.store.read((reader) => reader.signingKeys.list('access_token'))

  async function publishedKids(): Promise<(string | undefined)[]> {
    const response = await test.send('GET', '/.well-known/jwks.json')
    expect(response.statusCode).toBe(200)
    return response.json().keys.map(({ kid }: { kid: string }) => kid)
  }

  it('is replaced from the next token on, on a running server', async () => {
    const before = await test.signIn('alice', secret)

    const { signing } = await rotate()
    const after = await test.signIn('alice', secret)

    expect([kidOf(before), kidOf(after)]).toEqual([first.kid, signing.kid])
    expect([await statusOf(before), await statusOf(after)]).toEqual([200, 200])
  })

  it('that was replaced keeps no private part and verifies its last tokens', async () => {
    const token = await test.signIn('alice', secret)
    await rotate()

    const { d: _private, ...private_jwk } = first.private_jwk
    const verifies_until = '2026-11-21T09:01:00.250Z'
    expect(await keys()).toContainEqual({ ...first, private_jwk, verifies_until })
    pass(15 * MINUTE_MS - 1_000)
    expect(await statusOf(token)).toBe(200)
    pass(1_000)
    expect(await statusOf(token)).toBe(401)
  })

  it('whose overlap has passed verifies no token, regardless of `iat`', async () => {
    const forge = await importJWK(first.private_jwk, 'EdDSA')
    const token = await new SignJWT({ kind: 'user', tid: null })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: first.kid })
      .setIssuer('palisade-server')
      .setAudience('palisade-api')
      .setSubject('alice')
      .setJti('j')
      .setIssuedAt(START_MS / 1000 + 30 * 60)
      .setExpirationTime(START_MS / 1000 + 90 * 60)
      .sign(forge)
    await rotate()

    pass(61 * MINUTE_MS - 1)
    expect(await statusOf(token)).toBe(200)
    pass(1)
    expect(await statusOf(token)).toBe(401)
  })

  it('that is retired ends only its own tokens, at the next request', async () => {
    const old = await test.signIn('alice', secret)
    const { signing } = await rotate()
    const fresh = await test.signIn('alice', secret)
    expect(await statusOf(old)).toBe(200)

    expect(await retire(first.kid)).toMatchObject({ kid: first.kid })

    expect([await statusOf(old), await statusOf(fresh)]).toEqual([401, 200])
    expect(await publishedKids()).toEqual([signing.kid])
  })

  it('that signs, or is unknown, cannot be retired', async () => {
    const token = await test.signIn('alice', secret)

    expect(await retire(first.kid)).toBe('signing')
    expect(await retire('unknown')).toBe('unknown')

    expect(await statusOf(token)).toBe(200)
    expect(await keys()).toEqual([first])
  })

  it('that has ended is unchanged when it is retired again', async () => {
    await rotate()
    const ended = await retire(first.kid)
    pass(MINUTE_MS)

    expect(await retire(first.kid)).toEqual(ended)
  })

  it('is the only one that signs after concurrent rotations', async () => {
    await Promise.all([rotate(), rotate(), rotate()])

    const all = await keys()
    expect(all).toHaveLength(4)
    expect(all.filter(({ verifies_until }) => verifies_until === null)).toHaveLength(1)
    expect(all.filter(({ private_jwk }) => private_jwk.d !== undefined)).toHaveLength(1)
  })

  describe('as published', () => {
    it('verifies a token and contains no private part', async () => {
      const token = await test.signIn('alice', secret)

      const response = await test.send('GET', '/.well-known/jwks.json')

      expect(response.headers['cache-control']).toBe('public, max-age=300')
      expect(response.json().keys).toEqual([
        {
          kty: 'OKP',
          crv: 'Ed25519',
          x: first.private_jwk.x,
          kid: first.kid,
          alg: 'EdDSA',
          use: 'sig',
        },
      ])
      expect(response.body).not.toContain(first.private_jwk.d)
      const verified = await jwtVerify(token, createLocalJWKSet(response.json()), {
        issuer: 'palisade-server',
        audience: 'palisade-api',
        currentDate: now(),
      })
      expect(verified.payload.sub).toBe('alice')
    })

    it('is listed exactly as long as it verifies', async () => {
      pass(1)
      const { signing } = await rotate()

      expect(await publishedKids()).toEqual([first.kid, signing.kid])
      pass(61 * MINUTE_MS)
      expect(await publishedKids()).toEqual([signing.kid])
    })
  })
})
