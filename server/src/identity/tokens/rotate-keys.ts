import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Author } from '../../history/author.ts'
import type { SigningKeyRecord } from '../../store/records.ts'
import { createSigningKey, isSigning, isVerifying } from './signing-keys.ts'

/**
 * Longest life that `PALISADE_ACCESS_TOKEN_MINUTES` allows, of any server on this store, and a
 * minute for one that was signing while the key changed.
 */
const OVERLAP_MS = 61 * 60_000

/** Why a key was not retired. */
export type RetireRefusal = 'unknown' | 'signing'

export interface Rotation {
  /** What signs from now on. */
  readonly signing: SigningKeyRecord
  /** What signed until now, and verifies until its last token has expired. */
  readonly followed: readonly SigningKeyRecord[]
}

/**
 * Makes a new key for access tokens. The private part of the one before is deleted at once, since
 * verifying needs it no more; its tokens stay good until they expire.
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
 * Ends an access token key before its time: what it signed is refused from the next request on.
 * Answers the key, as it was when it had ended already.
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
