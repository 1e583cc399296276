import type { IdempotencyRecord, KeyPurpose, SigningKeyRecord } from '../records.ts'

export interface SigningKeyReader {
  /** Oldest first. */
  list(purpose: KeyPurpose): Promise<SigningKeyRecord[]>
}

export interface SigningKeyWriter extends SigningKeyReader {
  insert(key: SigningKeyRecord): Promise<void>
  /** Deletes the private part and answers the key as it now is. Throws `ERR_STORE_NOT_FOUND`. */
  retire(kid: string, verifiesUntil: string): Promise<SigningKeyRecord>
}

export interface IdempotencyReader {
  /** Also one that has expired; the caller compares `expires_at`. */
  find(scope: string): Promise<IdempotencyRecord | null>
  /** Kept answers of the caller, expired ones too until they are deleted. */
  keptFor(caller: string): Promise<KeptAnswers>
}

export interface KeptAnswers {
  readonly answers: number
  /** Of their bodies. */
  readonly bytes: number
}

export interface IdempotencyWriter extends IdempotencyReader {
  /** Replaces the record of the scope. */
  put(record: IdempotencyRecord): Promise<void>
  /**
   * Removes the first answers that expired at or before `now` (`Date.toISOString`): at most
   * `answers` of them with at most `bytes` together, but at least one. Returns how many.
   */
  deleteExpired(now: string, most: KeptAnswers): Promise<number>
}

/** Random values the server keeps for itself, such as `page_token_mac`. */
export interface SecretReader {
  find(name: string): Promise<Uint8Array | null>
}

export interface SecretWriter extends SecretReader {
  insert(name: string, value: Uint8Array): Promise<void>
}
