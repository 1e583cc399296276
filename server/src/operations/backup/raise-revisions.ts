import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { OPERATOR } from '../../history/author.ts'

/**
 * Added to the revision of every organization at least: more than anybody changes between a backup
 * and its restore. Devices refuse a lower revision than they have had, and an `ETag` handed out
 * since the backup must not come to name something else.
 */
export const REVISIONS_SKIPPED = 1_000_000

export interface RaisedRevision {
  readonly org: string
  readonly revision: number
}

/**
 * Must be done on every restored database. Each history gets an event for it: no other event tells
 * that later ones are lost. Views are signed again as well: a machine that has had a later view
 * refuses every older file, however new the timestamp above it is.
 *
 * `nowMs`, in milliseconds since 1970, is the least revision that an organization gets. The same
 * backup, or an older one, may be restored again. The second restore must exceed the revisions
 * served since the first, and no server makes one a millisecond.
 */
export function raiseRevisions(
  store: Pick<AuditedStore, 'write'>,
  nowMs: number,
): Promise<RaisedRevision[]> {
  return store.write(OPERATOR, async ({ organizations, views }) => {
    const raised: RaisedRevision[] = []
    for (const org of await organizations.names()) {
      const { revision = 0 } = (await organizations.find(org)) ?? {}
      const next = Math.max(revision + REVISIONS_SKIPPED, nowMs)
      await organizations.raiseRevision(org, next)
      // Versions of files are times, so each file signed from now on has a later version than any
      // lost one.
      await views.outdateAll(org)
      raised.push({ org, revision: next })
    }
    return raised
  })
}
