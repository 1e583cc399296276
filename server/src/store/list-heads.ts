import type { PolicyHeadRecord } from './records.ts'
import type { StoreReader } from './store.ts'

/** All policies without their rules, by ascending id. */
export async function listHeads(reader: StoreReader, org: string): Promise<PolicyHeadRecord[]> {
  return reader.policies.list(org, { afterId: '', limit: await reader.policies.count(org) })
}
