import type { PublicKey } from '@palisade/protocol'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import type { KeyPurpose, SigningKeyRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'

/** The keys of one purpose, oldest first, making the first one when there is none. */
export async function ensureSigningKeys(
  store: Store,
  purpose: KeyPurpose,
  now: () => Date,
): Promise<SigningKeyRecord[]> {
  const known = await store.read((reader) => reader.signingKeys.list(purpose))
  if (known.length > 0) return known
  const created = await createSigningKey(purpose, now())
  return store.transaction(async (writer) => {
    // Another process may have been first.
    const existing = await writer.signingKeys.list(purpose)
    if (existing.length > 0) return existing
    await writer.signingKeys.insert(created)
    return [created]
  })
}

/** The part that verifies. */
export function publicKeyOf(key: SigningKeyRecord): PublicKey {
  const x = key.private_jwk.x
  if (x === undefined) throw new TypeError(`signing key \`${key.kid}\` has no public part`)
  return { kty: 'OKP', crv: 'Ed25519', x, kid: key.kid }
}

async function createSigningKey(purpose: KeyPurpose, now: Date): Promise<SigningKeyRecord> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const private_jwk = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint(private_jwk)
  return { kid, purpose, private_jwk, created_at: now.toISOString() }
}
