import type { RolloutRecord, RolloutWatchRecord } from '../../distribution-records.ts'
import type { PolicyRecord } from '../../records.ts'

/** The newest `limit` of those that are older than `before`. */
export interface RolloutPage {
  /** Null for the first page. */
  readonly before: Pick<RolloutRecord, 'created_at' | 'id'> | null
  readonly limit: number
}

/** Staged rollouts. An organization has at most one that has not ended. */
export interface RolloutReader {
  find(org: string, id: string): Promise<RolloutRecord | null>
  /** The one that has not ended. */
  findOpen(org: string): Promise<RolloutRecord | null>
  /** Its id, without parsing the others of its columns. */
  findOpenId(org: string): Promise<string | null>
  /** The newest first. */
  page(org: string, page: RolloutPage): Promise<RolloutRecord[]>
  /** Lists the rollouts of all organizations that are running. */
  listRunning(): Promise<RolloutRecord[]>
  /** Ids of the policies of `base_revision`, ascending; empty once the rollout has ended. */
  baseIds(org: string, id: string): Promise<string[]>
  /** Such a policy as it was at `base_revision`; null once the rollout has ended. */
  basePolicy(org: string, id: string, policyId: string): Promise<PolicyRecord | null>
  /** Null before its first evaluation. */
  watch(id: string): Promise<RolloutWatchRecord | null>
}

export interface RolloutWriter extends RolloutReader {
  /**
   * From now on the policies of `base_revision`, the revision that the organization has, are kept:
   * each is copied before its first change. Throws `ERR_STORE_CONFLICT` for a second open rollout.
   */
  insert(rollout: RolloutRecord): Promise<void>
  /**
   * Replaces everything that may change; one that has ended loses its base. Raises the revision
   * where machines are to get other policies: with a stage, and at the end. Throws
   * `ERR_STORE_NOT_FOUND`.
   */
  update(rollout: RolloutRecord): Promise<void>
  /** Progress, not history; machines get no other policies by it. */
  putWatch(id: string, watch: RolloutWatchRecord): Promise<void>
}
