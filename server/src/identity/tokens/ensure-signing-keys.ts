import type { PublicKey } from '@palisade/protocol'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import type { KeyPurpose, SigningKeyRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'

/** The keys of one purpose, oldest first. Creates a signing key if there is none. */
export async function ensureSigningKeys(
  store: Store,
  purpose: KeyPurpose,
  now: () => Date,
): Promise<SigningKeyRecord[]> {
  const known = await store.read((reader) => reader.signingKeys.list(purpose))
  if (known.some(isSigning)) return known
  const created = await createSigningKey(purpose, now())
  return store.transaction(async (writer) => {
    // Another process may have created it first.
    const existing = await writer.signingKeys.list(purpose)
    if (existing.some(isSigning)) return existing
    await writer.signingKeys.insert(created)
    return [...existing, created]
  })
}

/** Whether the key may sign; the newest such key does. */
export function isSigning(key: SigningKeyRecord): boolean {
  return key.verifies_until === null
}

/** Whether signatures of the key may still be valid. */
export function isVerifying(key: SigningKeyRecord, now: Date): boolean {
  return key.verifies_until === null || now.toISOString() < key.verifies_until
}

/** The public part of the key. */
export function publicKeyOf(key: SigningKeyRecord): PublicKey {
  const x = key.private_jwk.x
  if (x === undefined) throw new TypeError(`signing key \`${key.kid}\` has no public part`)
  return { kty: 'OKP', crv: 'Ed25519', x, kid: key.kid }
}

/** Creates a new signing key without storing it. */
export async function createSigningKey(purpose: KeyPurpose, now: Date): Promise<SigningKeyRecord> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const private_jwk = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint(private_jwk)
  return { kid, purpose, private_jwk, created_at: now.toISOString(), verifies_until: null }
}
