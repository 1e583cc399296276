import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT } from 'jose'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { SigningKeyRecord } from '../../../../server/src/store/records.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import {
  createAccessTokenIssuer,
  type AccessTokenIssuer,
} from '../../../../server/src/identity/tokens/access-token-jwt.ts'
import { createAccessTokenKeys } from '../../../../server/src/identity/tokens/access-token-keys.ts'
import { ensureSigningKeys } from '../../../../server/src/identity/tokens/ensure-signing-keys.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const START_MS = Date.parse('2026-11-21T08:00:00Z')
const SUBJECT = { kind: 'user', name: 'ann', tokenId: 't1' } as const
const CLAIMS = { kind: 'user', tid: null, iss: 'palisade-server', aud: 'palisade-api' }

describe('an access token', () => {
  let nowMs: number
  let keys: SigningKeyRecord[]
  let issuer: AccessTokenIssuer

  beforeEach(async () => {
    nowMs = START_MS
    const now = () => new Date(nowMs)
    const store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
    onTestFinished(() => store.close())
    keys = await ensureSigningKeys(store, 'access_token', now)
    issuer = createAccessTokenIssuer({
      keys: createAccessTokenKeys({ store, now }),
      now,
      newId: () => randomUUID(),
    })
  })

  async function sign(header: object, claims: object): Promise<string> {
    const [key] = keys
    const jwk = await importJWK(key?.private_jwk ?? {}, 'EdDSA')
    const times = { iat: START_MS / 1000, exp: START_MS / 1000 + 60 }
    return new SignJWT({ ...CLAIMS, sub: 'ann', jti: 'j', ...times, ...claims })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: key?.kid ?? '', ...header })
      .sign(jwk)
  }

  it('yields its subject until it expires', async () => {
    const token = await issuer.issue(SUBJECT, 60)

    expect(await issuer.verify(token)).toEqual(SUBJECT)
    nowMs += 59_000
    expect(await issuer.verify(token)).toEqual(SUBJECT)
    nowMs += 1_000
    expect(await issuer.verify(token)).toBeNull()
  })

  it('is refused if it lives longer than tokens of the server', async () => {
    const at = START_MS / 1000

    expect(await issuer.verify(await sign({}, { iat: at, exp: at + 3600 }))).not.toBeNull()
    expect(await issuer.verify(await sign({}, { iat: at, exp: at + 3601 }))).toBeNull()
    expect(await issuer.verify(await sign({}, { iat: at + 61, exp: at + 3600 }))).toBeNull()
    const inTenYears = at + 315_360_000
    expect(
      await issuer.verify(await sign({}, { iat: inTenYears - 60, exp: inTenYears })),
    ).toBeNull()
  })

  it('has algorithm, key id, type and all claims of the specification', async () => {
    const token = await issuer.issue(SUBJECT, 60)

    expect(decodeProtectedHeader(token)).toEqual({
      alg: 'EdDSA',
      typ: 'at+jwt',
      kid: keys[0]?.kid,
    })
    expect(decodeJwt(token)).toMatchObject({
      iss: 'palisade-server',
      aud: 'palisade-api',
      sub: 'ann',
      jti: expect.any(String),
      exp: START_MS / 1000 + 60,
    })
  })

  it('signed by the right key still needs type, issuer, audience and subject', async () => {
    expect(await issuer.verify(await sign({}, {}))).not.toBeNull()

    expect(await issuer.verify(await sign({ typ: 'JWT' }, {}))).toBeNull()
    expect(await issuer.verify(await sign({ typ: 'palisade-bundle+jws' }, {}))).toBeNull()
    expect(await issuer.verify(await sign({ kid: 'unknown' }, {}))).toBeNull()
    expect(await issuer.verify(await sign({}, { iss: 'other' }))).toBeNull()
    expect(await issuer.verify(await sign({}, { aud: 'other' }))).toBeNull()
    expect(await issuer.verify(await sign({}, { kind: 'root' }))).toBeNull()
    expect(await issuer.verify(await sign({}, { tid: 7 }))).toBeNull()
    expect(await issuer.verify(await sign({}, { exp: START_MS / 1000 }))).toBeNull()
  })

  it('is refused without a signature, with another algorithm or with a changed claim', async () => {
    const token = await issuer.issue(SUBJECT, 60)
    const [, payload = '', signature = ''] = token.split('.')
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const none = encode({ alg: 'none', typ: 'at+jwt' })
    const hmac = await new SignJWT({ ...CLAIMS, sub: 'ann', jti: 'j', iat: 1, exp: 9e9 })
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: keys[0]?.kid ?? '' })
      .sign(Buffer.from(keys[0]?.private_jwk.x ?? '', 'base64url'))
    const changed = encode({ ...decodeJwt(token), sub: 'bob' })

    for (const forged of [
      `${none}.${payload}.`,
      `${none}.${payload}.${signature}`,
      hmac,
      `${token.split('.')[0]}.${changed}.${signature}`,
      '',
      'a.b.c',
    ])
      expect(await issuer.verify(forged), forged).toBeNull()
  })
})
