/** Tokens that are remembered; one more drops the one that was verified longest ago. */
const MAX_TOKENS = 10_000

/** A token whose signature was good; whether its key and its time still are is asked each time. */
export interface VerifiedToken<Subject> {
  readonly subject: Subject
  readonly kid: string
  readonly expiresMs: number
}

/**
 * Verified tokens by their hash: a signature takes ten times as long as all the rest of a small
 * request. Only what a trusted key has signed is kept, so that no stranger can fill it; whoever has many
 * tokens made costs the others a verification at most.
 */
export interface VerifiedTokens<Subject> {
  find(tokenHash: string): VerifiedToken<Subject> | null
  keep(tokenHash: string, token: VerifiedToken<Subject>): void
}

export function createVerifiedTokens<Subject>(maxTokens = MAX_TOKENS): VerifiedTokens<Subject> {
  const tokens = new Map<string, VerifiedToken<Subject>>()
  return {
    find: (tokenHash) => tokens.get(tokenHash) ?? null,
    keep(tokenHash, token) {
      tokens.set(tokenHash, token)
      if (tokens.size <= maxTokens) return
      for (const oldest of tokens.keys()) {
        tokens.delete(oldest)
        return
      }
    },
  }
}
