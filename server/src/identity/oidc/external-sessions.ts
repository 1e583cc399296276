import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Author, RequestOrigin } from '../../history/author.ts'
import type { AccessTokenIssuer, AccessTokenSubject } from '../tokens/access-token-jwt.ts'
import type { ObserveSignIn } from '../sign-in/sign-in-outcome.ts'
import type { ExternalSubject, ExternalTokens } from './external-token.ts'
import { syncTeams } from './sync-teams.ts'

/** Verifies access tokens of this server and of the external issuer. */
export interface SessionTokens {
  verify(token: string, from: RequestOrigin): Promise<AccessTokenSubject | null>
}

/**
 * Chooses the verifier of a token by its `iss` alone, so no token is tried with both verifiers. The
 * first time a token of the external issuer is seen, the teams of its user are synchronized with
 * its teams claim.
 */
export function createSessionTokens(deps: {
  readonly own: Pick<AccessTokenIssuer, 'verify'>
  readonly external: ExternalTokens
  readonly store: AuditedStore
  readonly issuer: string
  /** Called the first time a token is seen, and for each refused token. */
  readonly observeSignIn: ObserveSignIn
}): SessionTokens {
  const { own, external, store, issuer } = deps
  const synced = new WeakMap<ExternalSubject, Promise<void>>()

  async function sync(subject: ExternalSubject, from: RequestOrigin) {
    const { teams } = subject
    const author: Author = { actor: formatIssuer(issuer), ...from }
    if (teams !== null) await syncTeams(store, author, subject, teams)
  }

  return {
    async verify(token, from) {
      if (!external.claims(token)) return own.verify(token)
      const subject = await external.verify(token)
      if (subject === null) deps.observeSignIn('oidc', 'wrong_secret')
      if (subject === null) return null
      const earlier = synced.get(subject)
      if (earlier === undefined) deps.observeSignIn('oidc', 'ok')
      const work = earlier ?? sync(subject, from)
      synced.set(subject, work)
      try {
        await work
      } catch (error) {
        // The next request retries: a session with stale teams would see the wrong policies.
        synced.delete(subject)
        throw error
      }
      return subject
    },
  }
}

/** Formats the issuer as an actor of the history. */
export function formatIssuer(issuer: string): string {
  return `issuer:${issuer}`
}
