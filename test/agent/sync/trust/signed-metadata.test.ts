import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { TrustedMetadataStore } from 'tuf-js/dist/store.js'
import { describe, expect, it } from 'vitest'
import {
  formatCanonicalJson,
  isSignature,
} from '../../../../agent/src/sync/trust/signed-metadata.ts'
import { createRepository, VIEW } from '../../fixture/view-repository.ts'

function createKey(): { readonly key: string; readonly sign: (text: string) => string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return { key: hexOf(publicKey), sign: (text) => signHex(text, privateKey) }
}

function hexOf(publicKey: KeyObject): string {
  return Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex')
}

function signHex(text: string, privateKey: KeyObject): string {
  return sign(null, Buffer.from(text), privateKey).toString('hex')
}

describe('a signature', () => {
  const [own, other] = [createKey(), createKey()]
  const made = own.sign('open')

  it('is valid, as often as it is verified', () => {
    expect([1, 2, 3].map(() => isSignature('open', own.key, made))).toEqual([true, true, true])
  })

  it('is invalid for another text, key or signature', () => {
    const altered = made.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))

    expect(isSignature('opens', own.key, made)).toBe(false)
    expect(isSignature('open', other.key, made)).toBe(false)
    expect(isSignature('open', own.key, other.sign('open'))).toBe(false)
    expect(isSignature('open', own.key, altered)).toBe(false)
    expect(isSignature('open', own.key, '')).toBe(false)
    expect(isSignature('open', own.key, made)).toBe(true)
  })
})

describe('tuf-js', () => {
  it('refuses a signed fraction', () => {
    const { enrolment, release, keys } = createRepository(undefined, { nowMs: Date.now() })
    const text = release().get(`/api/v1/orgs/acme/views/${VIEW}/metadata/timestamp.json`) ?? ''
    const trusted = new TrustedMetadataStore(Buffer.from(enrolment.root))
    const take = (body: string) => trusted.updateTimestamp(Buffer.from(body))
    const file = JSON.parse(text) as { signatures: { sig: string }[]; signed: object }
    const signed = { ...file.signed, 'x-more': 'FRACTION' }
    const bytes = Buffer.from(formatCanonicalJson(signed)?.replace('"FRACTION"', '1.5') ?? '')
    const { keyID, sig } = keys.online.signBytes(bytes)
    const fraction = JSON.stringify({ signatures: [{ keyid: keyID, sig }], signed })

    expect(() => take(fraction.replace('"FRACTION"', '1.5'))).toThrow('was signed by 0/1 keys')
    const integer = keys.online.signBytes(Buffer.from(bytes.toString().replace('1.5', '15')))
    const good = JSON.stringify({ signatures: [{ keyid: keyID, sig: integer.sig }], signed })
    expect(take(good.replace('"FRACTION"', '15')).signed.version).toBe(1)
  })
})

describe('the canonical form', () => {
  it('is sorted, has no white space, and escapes only two characters', () => {
    const value = { b: [1, true, null], a: { d: 'x\n"\\', c: -7 } }

    expect(formatCanonicalJson(value)).toBe('{"a":{"c":-7,"d":"x\n\\"\\\\"},"b":[1,true,null]}')
  })

  it.each([1.5, Number.NaN, undefined, { deep: [{ in: 0.1 }] }, () => 1])(
    'does not exist for %j, which tuf-js does not read either',
    (value) => {
      expect(formatCanonicalJson(value)).toBeNull()
    },
  )
})
