import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { DistributionKeyRecord } from '../../store/distribution-records.ts'
import { describeKey } from './role-key.ts'

const ENCRYPTED = '-----BEGIN ENCRYPTED PRIVATE KEY-----'

/** A private key as PKCS#8 in PEM, encrypted by the passphrase (PBES2 with AES-256). */
export function encryptRootKey({ private_jwk }: DistributionKeyRecord, passphrase: string): string {
  const { x = '', d = '' } = private_jwk
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x, d }, format: 'jwk' })
  const pem = key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase })
  return pem.toString()
}

/** Null for another form of file, another kind of key, and a wrong passphrase. */
export function decryptRootKey(
  pem: string,
  passphrase: string,
  about: Pick<DistributionKeyRecord, 'org' | 'created_at'>,
): DistributionKeyRecord | null {
  // This server writes encrypted keys only; a plain one comes from elsewhere and is refused.
  if (!pem.startsWith(ENCRYPTED)) return null
  const key = openPem(pem, passphrase)
  return key?.asymmetricKeyType === 'ed25519' ? describeKey(key, { ...about, role: 'root' }) : null
}

function openPem(pem: string, passphrase: string): KeyObject | null {
  try {
    return createPrivateKey({ key: pem, format: 'pem', passphrase })
  } catch {
    return null
  }
}
