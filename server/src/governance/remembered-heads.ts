import { createLruCache } from '../platform/lru-cache.ts'
import type { OrganizationRecord, PolicyHeadRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import { listHeads } from '../store/list-heads.ts'

/** Heads of all organizations together. */
const MAX_HEADS = 100_000

/** Lists all policies without rules, by ascending id. `reader` supplied `organization`. */
export type ListHeads = (
  reader: StoreReader,
  organization: Pick<OrganizationRecord, 'name' | 'revision'>,
) => Promise<readonly PolicyHeadRecord[]>

interface Known {
  readonly revision: number
  readonly heads: readonly PolicyHeadRecord[]
}

/**
 * Caches the newest heads of each organization under its revision, which every change of a policy
 * raises. Must not be used with the reader of a transaction: after a rollback another transaction
 * gets the same revision.
 */
export function rememberHeads(): ListHeads {
  const cache = createLruCache<Known>(MAX_HEADS, ({ heads }) => heads.length + 1)
  return async (reader, { name, revision }) => {
    const known = cache.find(name)
    if (known?.revision === revision) return known.heads
    const heads = await listHeads(reader, name)
    cache.keep(name, { revision, heads })
    return heads
  }
}
