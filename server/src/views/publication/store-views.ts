import type { StoreWriter } from '../../store/store.ts'
import { isWithin, startOfKept, termOfTimestamp } from './renewal.ts'
import type { SignedView } from './publish-view.ts'
import { createLruCache } from '../../platform/lru-cache.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Longer than any timestamp lives. */
const ABANDONED_AFTER_MS = 31 * DAY_MS
const MAX_ORGANIZATIONS = 10_000

/** Stores the files signed for views of one organization, in the transaction that signed them. */
export type StoreViews = (
  context: { readonly writer: StoreWriter; readonly now: Date },
  org: string,
  signed: readonly SignedView[],
) => Promise<void>

/**
 * Also deletes files that no machine can ask for any more. Each view is cleaned once an hour, when
 * its timestamp is renewed anyway, and not with every change, which may sign many views.
 */
export function createViewStorage(): StoreViews {
  /** When the organization's views were looked through, in milliseconds since 1970. */
  const lookedThrough = createLruCache<number>(MAX_ORGANIZATIONS, () => 1)

  /** Every view of it is looked at, so that is done once a day and not for each of them. */
  function isLookDue(org: string, nowMs: number): boolean {
    const lastMs = lookedThrough.find(org)
    if (lastMs !== null && Math.abs(nowMs - lastMs) < DAY_MS) return false
    lookedThrough.keep(org, nowMs)
    return true
  }

  return async ({ writer: { views }, now }, org, signed) => {
    const publications = signed.flatMap(({ publication }) => publication ?? [])
    if (publications.length === 0) return
    await views.publish(org, publications)

    const nowMs = now.getTime()
    const hourly = signed.flatMap(({ former, publication }) =>
      former === null || publication === null || isWithin(termOfTimestamp(former), nowMs)
        ? []
        : former,
    )
    if (hourly.length === 0) return
    const since = startOfKept(now)
    for (const { id } of hourly) await views.deleteReplaced(org, id, since)
    if (isLookDue(org, nowMs))
      await views.deleteAbandoned(org, new Date(nowMs - ABANDONED_AFTER_MS).toISOString())
    await views.deleteUnlisted(org, since)
  }
}
