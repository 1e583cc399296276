import { createLruCache, type LruCache } from '../../platform/lru-cache.ts'

/** Tokens that are remembered; one more drops the one that was used longest ago. */
const MAX_TOKENS = 10_000

/** A token whose signature was good; whether its key and its time still are is asked each time. */
export interface VerifiedToken<Subject> {
  readonly subject: Subject
  readonly kid: string
  readonly expiresMs: number
}

/**
 * Verified tokens by a key: the text of a short one, the hash of one that may be long. A signature
 * takes ten times as long as all the rest of a small request, and a hash a twentieth of it. A `Map`
 * compares two texts only when their hashes by a seed of this process are equal, so time tells
 * nobody a part of a token. Only what a trusted key has signed is kept, so that no stranger can
 * fill it; whoever has many tokens made costs the others a verification at most.
 */
export type VerifiedTokens<Subject> = LruCache<VerifiedToken<Subject>>

export function createVerifiedTokens<Subject>(maxTokens = MAX_TOKENS): VerifiedTokens<Subject> {
  return createLruCache<VerifiedToken<Subject>>(maxTokens, () => 1)
}
