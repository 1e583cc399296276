import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Author, RequestOrigin } from '../../history/author.ts'
import type { AccessTokenIssuer, AccessTokenSubject } from '../tokens/access-token-jwt.ts'
import type { ObserveSignIn } from '../sign-in/sign-in-outcome.ts'
import type { ExternalSubject, ExternalTokens } from './external-token.ts'
import { syncTeams } from './sync-teams.ts'

/** Either kind of access token to its subject. */
export interface SessionTokens {
  verify(token: string, from: RequestOrigin): Promise<AccessTokenSubject | null>
}

/**
 * Our tokens to our verifier, those of the issuer to his, by `iss` alone: no token is tried with
 * both. The first time that a token of the issuer is seen, its user's teams follow what it says.
 */
export function createSessionTokens(deps: {
  readonly own: Pick<AccessTokenIssuer, 'verify'>
  readonly external: ExternalTokens
  readonly store: AuditedStore
  readonly issuer: string
  /** Told the first time that a token is seen, and of each that is refused. */
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
        // The next request tries again; a session without its teams would see other policies.
        synced.delete(subject)
        throw error
      }
      return subject
    },
  }
}

/** The issuer as an actor of the history. */
export function formatIssuer(issuer: string): string {
  return `issuer:${issuer}`
}
