import { createDeviceKey, createProver, thumbprintOf } from '@palisade/client'
import { createHmac, generateKeyPairSync, hash, sign, type KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { verifyProof } from '../../../../server/src/identity/device/verify-proof.ts'

const NOW_MS = Date.parse('2026-11-21T08:00:00Z')
const ORIGIN = 'https://palisade.test'
const PATH = '/api/v1/device/view'
const TOKEN = 'pal_dat_of_the_device'
const key = createDeviceKey()
const { d: _private, ...jwk } = key
const GOOD = { method: 'GET', url: ORIGIN + PATH, accessToken: TOKEN }
const prove = createProver(key, () => NOW_MS)

const verify = (text: string, change: object = {}, nowMs = NOW_MS) => {
  const wanted = { method: 'GET', path: PATH, origins: [ORIGIN], accessToken: TOKEN, ...change }
  return verifyProof(text, wanted, new Date(nowMs))
}

/** A JWS with the given parts, signed by `signer` with Ed25519. */
function forge(
  change: { header?: object; claims?: object; signature?: string },
  signer: KeyObject = generateKeyPairSync('ed25519').privateKey,
): string {
  const header = { typ: 'dpop+jwt', alg: 'EdDSA', jwk, ...change.header }
  const claims = {
    htm: 'GET',
    htu: ORIGIN + PATH,
    iat: NOW_MS / 1000,
    jti: 'one',
    ath: hash('sha256', TOKEN, 'base64url'),
    ...change.claims,
  }
  const signed = `${encode(header)}.${encode(claims)}`
  const signature =
    change.signature ?? sign(null, Buffer.from(signed), signer).toString('base64url')
  return `${signed}.${signature}`
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Another encoding of the same bytes, if the last character has unused bits. */
function nextOf(base64url: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(base64url.at(-1) ?? '')
  return base64url.slice(0, -1) + (alphabet[last + 1] ?? '')
}

/** A key pair with its JWK members. */
function newPair() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { kty, crv, x = '' } = publicKey.export({ format: 'jwk' })
  return { privateKey, jwk: { kty, crv, x }, d: privateKey.export({ format: 'jwk' }).d }
}

describe('a proof', () => {
  it('yields its key, id and time', () => {
    expect(verify(prove(GOOD))).toEqual({
      thumbprint: thumbprintOf(key),
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      issuedMs: NOW_MS,
    })
  })

  it('for another origin is refused even if the path looks like an origin', () => {
    for (const path of ['//elsewhere.test/view', '/\\elsewhere.test/view']) {
      const text = prove({ ...GOOD, url: 'https://elsewhere.test/view' })

      expect(verify(text, { path })).toContain('an `htu` other than')
    }
  })

  it('needs no `ath` without an access token', () => {
    const text = prove({ method: 'GET', url: ORIGIN + PATH })

    expect(verify(text, { accessToken: undefined })).toMatchObject({ issuedMs: NOW_MS })
    expect(verify(text)).toBe('has no `ath` for this access token')
  })

  it('is bound to one method, one URL and one token', () => {
    expect(verify(prove({ ...GOOD, method: 'POST' }))).toContain('an `htm` other than')
    expect(verify(prove(GOOD), { method: 'get' })).toContain('an `htm` other than')
    expect(verify(prove(GOOD), { accessToken: `${TOKEN}x` })).toContain('no `ath`')
    for (const url of [
      `${ORIGIN}/api/v1/device/token`,
      `${ORIGIN}${PATH}/`,
      `${ORIGIN}${PATH}?x=1`,
      `${ORIGIN}${PATH}#x`,
      `https://palisade.test.evil.test${PATH}`,
      `https://u:p@palisade.test${PATH}`,
      `http://palisade.test${PATH}`,
      `https://palisade.test:8443${PATH}`,
      PATH,
      '',
    ])
      expect(verify(prove({ ...GOOD, url })), url).toContain('an `htu` other than')
    expect(verify(prove(GOOD), { origins: [] })).toContain('an `htu` other than')
  })

  it('may use any equivalent spelling of the origin', () => {
    for (const url of [`HTTPS://PALISADE.test${PATH}`, `https://palisade.test:443${PATH}`])
      expect(verify(prove({ ...GOOD, url })), url).toMatchObject({ issuedMs: NOW_MS })
  })

  it('is valid for five minutes before and after its time', () => {
    const text = prove(GOOD)

    for (const seconds of [-300, 300])
      expect(verify(text, {}, NOW_MS + seconds * 1000)).toMatchObject({ issuedMs: NOW_MS })
    for (const seconds of [-301, 301, 86_400])
      expect(verify(text, {}, NOW_MS + seconds * 1000)).toContain('an `iat` more than')
  })

  it.each<[string, () => string]>([
    ['nothing', () => ''],
    ['text that is not a JWT', () => 'a.b.c'],
    ['two proofs', () => `${prove(GOOD)},${prove(GOOD)}`],
    ['more than the maximum length', () => `${prove(GOOD)}${'A'.repeat(2048)}`],
    ['no key', () => forge({ header: { jwk: undefined } })],
    ['a signature of another key', () => forge({})],
    ['no signature', () => forge({ signature: '' })],
    ['the algorithm none', () => forge({ header: { alg: 'none' }, signature: '' })],
    [
      'a MAC with the public key',
      () => {
        const signed = forge({ header: { alg: 'HS256' } })
          .split('.')
          .slice(0, 2)
          .join('.')
        const secret = Buffer.from(key.x, 'base64url')
        return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
      },
    ],
    [
      'a symmetric key in its header',
      () => {
        const header = { alg: 'HS256', jwk: { kty: 'oct', k: key.x } }
        const signed = forge({ header }).split('.').slice(0, 2).join('.')
        const secret = Buffer.from(key.x, 'base64url')
        return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
      },
    ],
    [
      'a key of another kind',
      () => {
        const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
        const header = { alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }) }
        const signed = forge({ header }).split('.').slice(0, 2).join('.')
        const options = { key: privateKey, dsaEncoding: 'ieee-p1363' as const }
        return `${signed}.${sign('sha256', Buffer.from(signed), options).toString('base64url')}`
      },
    ],
    [
      'the private part of its key',
      () => {
        const pair = newPair()
        return forge({ header: { jwk: { ...pair.jwk, d: pair.d } } }, pair.privateKey)
      },
    ],
    [
      'another encoding of its key',
      () => {
        const pair = newPair()
        // The last of 43 characters has two unused bits.
        const reencoded = { ...pair.jwk, x: nextOf(pair.jwk.x) }
        return forge({ header: { jwk: reencoded } }, pair.privateKey)
      },
    ],
    ['another type', () => ofPair({ header: { typ: 'at+jwt' } })],
    ['no type', () => ofPair({ header: { typ: undefined } })],
    ['a critical extension', () => ofPair({ header: { crit: ['x'], x: 1 } })],
    ['no id', () => ofPair({ claims: { jti: undefined } })],
    ['an empty id', () => ofPair({ claims: { jti: '' } })],
    ['an id that is too long', () => ofPair({ claims: { jti: 'x'.repeat(129) } })],
    ['no time', () => ofPair({ claims: { iat: undefined } })],
    ['a time that is text', () => ofPair({ claims: { iat: String(NOW_MS / 1000) } })],
    ['an `exp` in the past', () => ofPair({ claims: { exp: NOW_MS / 1000 - 1 } })],
    ['an `exp` in the future', () => ofPair({ claims: { exp: NOW_MS / 1000 + 60 } })],
    ['an `nbf`', () => ofPair({ claims: { nbf: NOW_MS / 1000 } })],
    ['padding', () => `${ofPair({})}==`],
    ['white space', () => `${ofPair({})} `],
    ['a fourth part', () => `${ofPair({})}.e30`],
    ['claims with a duplicate member', () => forgeText('{"jti":"one","jti":"two"}')],
    ['claims that are not UTF-8', () => forgeText(Buffer.from(claimsWith('\xff'), 'latin1'))],
    ['claims with an incomplete byte', () => forgeText(claimsOfLength(0), (text) => `${text}A`)],
    ['claims with unused bits set', () => forgeText(claimsOfLength(1), (text) => nextOf(text))],
    ['claims that are not an object', () => forgeText('[]')],
    ['claims that are not JSON', () => forgeText('{')],
    ['no method', () => ofPair({ claims: { htm: undefined } })],
  ])('is refused with %s', (_title, make) => {
    expect(verify(make())).toMatch(/^must be /)
  })

  /** Signed by the key in its header, so that only the change is invalid. */
  function ofPair(change: { header?: object; claims?: object }): string {
    const pair = newPair()
    return forge({ ...change, header: { jwk: pair.jwk, ...change.header } }, pair.privateKey)
  }

  /** A proof with any claims; `change` applies to their encoded form. */
  function forgeText(claims: string | Buffer, change = (text: string) => text): string {
    const pair = newPair()
    const header = encode({ typ: 'dpop+jwt', alg: 'EdDSA', jwk: pair.jwk })
    const signed = `${header}.${change(Buffer.from(claims).toString('base64url'))}`
    return `${signed}.${sign(null, Buffer.from(signed), pair.privateKey).toString('base64url')}`
  }

  /** Valid claims. */
  const goodClaims = JSON.stringify({
    htm: 'GET',
    htu: ORIGIN + PATH,
    iat: NOW_MS / 1000,
    jti: 'one',
    ath: hash('sha256', TOKEN, 'base64url'),
  })
  const claimsWith = (more: string) => goodClaims.replace(/}$/, `,"x":"${more}"}`)
  /** Claims of length 3n + `rest`. Base64 of a multiple of three bytes has no unused bits. */
  const claimsOfLength = (rest: number) => {
    const length = claimsWith('').length
    return claimsWith('x'.repeat((((rest - length) % 3) + 3) % 3))
  }

  it('built by the helpers above is valid when it is not changed', () => {
    expect(verify(ofPair({}))).toMatchObject({ jti: 'one' })
    for (const text of [claimsWith('\u00ff'), claimsOfLength(0), claimsOfLength(1)])
      expect(verify(forgeText(text))).toMatchObject({ jti: 'one' })
  })
})
