import type { RolloutRecord, RolloutWatchRecord } from '../distribution-records.ts'
import type { PolicyRecord } from '../records.ts'

/** Staged rollouts, of which an organization has one at a time that has not ended. */
export interface RolloutReader {
  find(org: string, id: string): Promise<RolloutRecord | null>
  /** The one that has not ended. */
  findOpen(org: string): Promise<RolloutRecord | null>
  /** The newest first. */
  list(org: string, limit: number): Promise<RolloutRecord[]>
  /** Those of all organizations that are running. */
  listRunning(): Promise<RolloutRecord[]>
  /** Ids of the policies that the rollout was started with, ascending; none once it has ended. */
  baseIds(org: string, id: string): Promise<string[]>
  /** Such a policy as it was when the rollout was started; null once it has ended. */
  basePolicy(org: string, id: string, policyId: string): Promise<PolicyRecord | null>
  /** Null before it was judged for the first time. */
  watch(id: string): Promise<RolloutWatchRecord | null>
}

/** Policies one after another, since all of them may be 40 MB. */
export type Base = Iterable<PolicyRecord> | AsyncIterable<PolicyRecord>

export interface RolloutWriter extends RolloutReader {
  /** Throws `ERR_STORE_CONFLICT` when there is one that has not ended. */
  insert(rollout: RolloutRecord, base: Base): Promise<void>
  /**
   * Replaces everything that may change; one that has ended loses its base. Raises the revision where
   * machines are to get other policies: with a stage, and at the end. Throws `ERR_STORE_NOT_FOUND`.
   */
  update(rollout: RolloutRecord): Promise<void>
  /** Progress, not history; nothing is served by it. */
  putWatch(id: string, watch: RolloutWatchRecord): Promise<void>
}
