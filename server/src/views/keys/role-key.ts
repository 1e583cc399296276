import { Key, Signature, type Metadata } from '@tufjs/models'
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  sign,
  type KeyObject,
} from 'node:crypto'
import { formatCanonicalJson } from '../../history/canonical-json.ts'
import type { DistributionKeyRecord, DistributionRole } from '../../store/distribution-records.ts'
import { createLruCache } from '../../platform/lru-cache.ts'

/** A key of a role, able to sign. */
export interface RoleKey {
  readonly role: DistributionRole
  /** The key as it stands in a root. */
  readonly key: Key
  signBytes(bytes: Uint8Array): Signature
  /** Adds the signature of this key to `metadata`. */
  sign(metadata: Pick<Metadata<never>, 'sign'>): void
}

/** A new Ed25519 key, not stored yet. */
export function createDistributionKey(
  org: string,
  role: DistributionRole,
  now: Date,
): DistributionKeyRecord {
  const { privateKey } = generateKeyPairSync('ed25519')
  return describeKey(privateKey, { org, role, created_at: now.toISOString() })
}

/** An Ed25519 key as it is stored. */
export function describeKey(
  privateKey: KeyObject,
  about: Pick<DistributionKeyRecord, 'org' | 'role' | 'created_at'>,
): DistributionKeyRecord {
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' })
  const private_jwk = { kty: 'OKP', crv: 'Ed25519', x, d } as const
  return { ...about, kid: keyId(publicHex(x)), private_jwk }
}

/** Tells whether the private part is there. */
export function isPrivate({ private_jwk }: DistributionKeyRecord): boolean {
  return private_jwk.d !== undefined
}

/** Throws the error of `node:crypto` for a key that it cannot read. */
export function openRoleKey({ kid, role, private_jwk }: DistributionKeyRecord): RoleKey {
  const { x = '', d = '' } = private_jwk
  const jwk = { kty: 'OKP', crv: 'Ed25519', x, d }
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  const signBytes = (bytes: Uint8Array): Signature =>
    new Signature({ keyID: kid, sig: sign(null, bytes, privateKey).toString('hex') })
  return {
    role,
    key: new Key({
      keyID: kid,
      keyType: 'ed25519',
      scheme: 'ed25519',
      keyVal: { public: publicHex(x) },
    }),
    signBytes,
    sign: (metadata) => metadata.sign(signBytes),
  }
}

/** Signs a document beside the files of TUF, in the form of one. */
export function signDocument<T>(
  key: Pick<RoleKey, 'signBytes'>,
  signed: T,
): { readonly signatures: { keyid: string; sig: string }[]; readonly signed: T } {
  const { keyID, sig } = key.signBytes(Buffer.from(formatCanonicalJson(signed)))
  return { signatures: [{ keyid: keyID, sig }], signed }
}

/**
 * The id is the hash of the key alone: one key under two ids would count twice towards a threshold.
 */
function keyId(publicKey: string): string {
  const key = { keytype: 'ed25519', scheme: 'ed25519', keyval: { public: publicKey } }
  return createHash('sha256').update(formatCanonicalJson(key)).digest('hex')
}

function publicHex(x: string): string {
  return Buffer.from(x, 'base64url').toString('hex')
}

/** Three for each organization. */
const MAX_KEYS = 3_000

/**
 * Opens a stored key for signing. Throws the error of `node:crypto` for a key that it cannot read.
 */
export type OpenKey = (record: DistributionKeyRecord) => RoleKey

/** Opens each key once: to import it takes as long as to sign with it. */
export function rememberOpenedKeys(): OpenKey {
  const opened = createLruCache<RoleKey>(MAX_KEYS, () => 1)
  return (record) => {
    const known = opened.find(record.kid)
    if (known !== null) return known
    const key = openRoleKey(record)
    opened.keep(record.kid, key)
    return key
  }
}
