import { importJWK, type CryptoKey } from 'jose'
import type { SigningKeyRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { isSigning, isVerifying, publicKeyOf } from './ensure-signing-keys.ts'

/** The key that currently signs access tokens. */
export interface SigningKey {
  readonly kid: string
  readonly key: CryptoKey
}

/**
 * The current keys of access tokens. A rotation or retirement by any process takes effect at the
 * next token.
 */
export interface AccessTokenKeys {
  signing(): Promise<SigningKey>
  /** The public key with this id, while its tokens are accepted; otherwise null. */
  verifying(kid: string): Promise<CryptoKey | null>
}

export function createAccessTokenKeys(deps: {
  readonly store: Pick<Store, 'read' | 'generation'>
  readonly now: () => Date
}): AccessTokenKeys {
  const { store, now } = deps
  let known: { generation: number; records: readonly SigningKeyRecord[] } | null = null
  let signing: SigningKey | null = null
  /** Keys by `kid`. Holds only keys of the store, so forged tokens cannot make it grow. */
  const verifying = new Map<string, CryptoKey>()

  async function records(): Promise<readonly SigningKeyRecord[]> {
    const generation = store.generation('accounts')
    if (known?.generation === generation) return known.records
    const read = await store.read((reader) => reader.signingKeys.list('access_token'))
    known = { generation, records: read }
    if (!read.some((record) => record.kid === signing?.kid && isSigning(record))) signing = null
    for (const kid of verifying.keys())
      if (!read.some((record) => record.kid === kid)) verifying.delete(kid)
    return read
  }

  return {
    async signing() {
      const newest = (await records()).findLast(isSigning)
      if (newest === undefined) throw new RangeError('there is no key to sign access tokens with')
      if (signing?.kid !== newest.kid)
        signing = { kid: newest.kid, key: await importKey(newest.private_jwk) }
      return signing
    },

    async verifying(kid) {
      const record = (await records()).find((candidate) => candidate.kid === kid)
      if (record === undefined || !isVerifying(record, now())) return null
      const ready = verifying.get(kid)
      if (ready !== undefined) return ready
      const key = await importKey(publicKeyOf(record))
      verifying.set(kid, key)
      return key
    },
  }
}

async function importKey(jwk: Parameters<typeof importJWK>[0]): Promise<CryptoKey> {
  const key = await importJWK(jwk, 'EdDSA')
  if (key instanceof Uint8Array) throw new TypeError('a symmetric key cannot sign access tokens')
  return key
}
