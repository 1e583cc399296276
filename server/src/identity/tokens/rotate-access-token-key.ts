import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Author } from '../../history/author.ts'
import type { SigningKeyRecord } from '../../store/records.ts'
import { createSigningKey, isSigning, isVerifying } from './ensure-signing-keys.ts'

/**
 * The maximum of `PALISADE_ACCESS_TOKEN_MINUTES` for any server on this store, and a minute for a
 * token that is being signed during the rotation.
 */
const OVERLAP_MS = 61 * 60_000

/** The reason why a key was not retired. */
export type RetireRefusal = 'unknown' | 'signing'

export interface Rotation {
  /** The new signing key. */
  readonly signing: SigningKeyRecord
  /** The previous signing keys, which verify until their last token expires. */
  readonly followed: readonly SigningKeyRecord[]
}

/**
 * Creates a new key for access tokens. The private part of the previous key is deleted at once. Its
 * tokens stay valid until they expire.
 */
export async function rotateAccessTokenKey(
  store: AuditedStore,
  author: Author,
  now: Date,
): Promise<Rotation> {
  const signing = await createSigningKey('access_token', now)
  const until = new Date(now.getTime() + OVERLAP_MS).toISOString()
  return store.write(author, async (writer) => {
    const before = await writer.signingKeys.list('access_token')
    const followed: SigningKeyRecord[] = []
    for (const { kid } of before.filter(isSigning))
      followed.push(await writer.signingKeys.retire(kid, until))
    await writer.signingKeys.insert(signing)
    return { signing, followed }
  })
}

/**
 * Retires an access token key at once: its tokens are refused from the next request on. Returns the
 * key; one that has already ended is returned unchanged.
 */
export async function retireAccessTokenKey(
  store: AuditedStore,
  author: Author,
  kid: string,
  now: Date,
): Promise<SigningKeyRecord | RetireRefusal> {
  return store.write(author, async (writer) => {
    const keys = await writer.signingKeys.list('access_token')
    const key = keys.find((candidate) => candidate.kid === kid)
    if (key === undefined) return 'unknown'
    if (isSigning(key)) return 'signing'
    if (!isVerifying(key, now)) return key
    return writer.signingKeys.retire(kid, now.toISOString())
  })
}
