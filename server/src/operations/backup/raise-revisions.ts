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
 * To be done on every database that was restored. Every history says so: nothing else in it tells
 * that later events are lost. Views are signed anew as well: a machine that has had a later one
 * takes none of the former files, however new the timestamp above them is.
 *
 * `nowMs`, in milliseconds since 1970, is the least revision that an organization gets. A backup
 * may be restored again, or an older one; what was served between the two restores had revisions
 * that the second must pass, and no server makes one a millisecond.
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
      // Their versions are times: signed from now on, each file is above those of what was lost.
      await views.outdateAll(org)
      raised.push({ org, revision: next })
    }
    return raised
  })
}
