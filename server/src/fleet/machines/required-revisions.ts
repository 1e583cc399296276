import { ApiError } from '../../platform/api-error.ts'
import type { ViewService } from '../../views/view-service.ts'

/** The revision that machines have to have reached, by the teams of their user. */
export interface RequiredRevisions {
  of(teams: readonly string[]): Promise<number>
}

/**
 * At most `revision`. A view keeps the number at which it last became another, so one that the
 * revision did not touch was there before it. Each set of teams is asked for once.
 */
export function createRequiredRevisions(
  views: Pick<ViewService, 'revisionOf'>,
  { org, revision }: { readonly org: string; readonly revision: number },
): RequiredRevisions {
  const known = new Map<string, Promise<number>>()
  return {
    async of(teams) {
      const key = teams.join()
      let found = known.get(key)
      if (found === undefined) known.set(key, (found = findRevision(views, org, teams)))
      return Math.min(await found, revision)
    },
  }
}

/**
 * Finds the newest revision of a view. No machine has that of a view that cannot be signed, as with
 * too many policies.
 */
async function findRevision(
  views: Pick<ViewService, 'revisionOf'>,
  org: string,
  teams: readonly string[],
): Promise<number> {
  try {
    return await views.revisionOf(org, teams)
  } catch (error) {
    if (error instanceof ApiError) return Infinity
    throw error
  }
}
