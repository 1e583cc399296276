import type { EvidenceLimits, ExceededLimit } from './evidence-limits.ts'
import type { DeviceChain, EvidenceLoss, EvidenceRow, EvidenceTuple } from './evidence-record.ts'

/** A batch of one device, written entirely or not at all. */
export interface EvidenceBatch {
  readonly org: string
  readonly device_id: string
  /** The user of the device when the batch arrived, by the server's own records. */
  readonly username: string | null
  readonly rows: readonly EvidenceRow[]
  readonly losses: readonly EvidenceLoss[]
  /** The chain after the batch. */
  readonly chain: DeviceChain
  /** `received_ms` of the chain that the batch was checked against; null for the first batch. */
  readonly follows: number | null
}

/** A stored row, with the members of its tuple and of its batch. */
export interface StoredEvidence extends EvidenceRow {
  /** Ascends in the order of arrival within an organization. */
  readonly id: number
  readonly org: string
  readonly device_id: string
  readonly username: string | null
  /** Epoch milliseconds of the batch, by the server's clock. */
  readonly received_ms: number
}

/** Which rows; null stands for any. Rows are filed by `last_ms`. */
export interface EvidenceFilter {
  /** Inclusive, epoch milliseconds. */
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
  readonly username: string | null
  readonly device_id: string | null
  readonly session: string | null
  readonly decision: 'allow' | 'deny' | null
  /** The differing decision with the shadow policies. */
  readonly shadow?: 'allow' | 'deny' | null
  /** Any of them; null among them for requests that could not be read. */
  readonly actions: readonly (string | null)[] | null
  readonly program: string | null
  /** `audit` for requests that were allowed because no rule denies them. */
  readonly mode: 'audit' | 'enforce' | null
  /** A rule that decided. */
  readonly rule_id: string | null
  /** The target begins with it: `host:port`, or a path. */
  readonly resource: string | null
  /** Part of the target, in any case of letters. */
  readonly text: string | null
}

/** A position in the order of rows, newest first. */
export interface EvidencePosition {
  readonly last_ms: number
  readonly id: number
}

/** Newest first. */
export interface EvidencePage {
  /** `next` of the page before; null for the first page. */
  readonly before: EvidencePosition | null
  readonly limit: number
}

/** Rows of a page. */
export interface EvidenceSlice {
  readonly rows: readonly StoredEvidence[]
  /**
   * Where the next page begins; null at the end. One call does a bounded amount of work, so a page
   * of rare rows may be short, or empty, before the end.
   */
  readonly next: EvidencePosition | null
}

/** Equal decisions of one source in the rows of one call of `tally`. */
export interface EvidenceTally {
  /** Keys for `sources` and `tuples`. */
  readonly source: number
  readonly tuple: number
  /** A row counts for at most a million. */
  readonly decisions: number
  /** Epoch milliseconds of the first and the last one. */
  readonly first_ms: number
  readonly last_ms: number
}

export interface TallyPage {
  /** `next` of the page before; null for the first page. */
  readonly before: EvidencePosition | null
  /** Rows that the call reads at most, which bounds its work. */
  readonly records: number
}

export interface TallySlice {
  /** At most one for each source and tuple; later pages may have the same ones again. */
  readonly tallies: readonly EvidenceTally[]
  /** Where the next page begins; null at the end. A page before the end may be empty. */
  readonly next: EvidencePosition | null
}

/** Device and user of rows. Several sources have the same ones: there is one for each session. */
export interface EvidenceSource {
  readonly device_id: string
  readonly username: string | null
}

export interface RuleUseBounds {
  readonly day: number
  /** Look-ups of a day of a tuple, at most. */
  readonly seeks: number
}

/** The matches of a rule. */
export interface RuleUse {
  /** Some devices on which it decided; empty exactly when it decided nowhere. */
  readonly devices: readonly string[]
  /** Whether these are all of them. */
  readonly isComplete: boolean
  /** Whether it would have decided with the shadow policies, where the decision differed. */
  readonly isShadowed: boolean
}

/** Whose evidence an operator removes: an organization's, or that of one of its devices. */
export interface EvidenceOwner {
  readonly org: string
  readonly deviceId: string | null
}

/** A day with rows. */
export interface EvidenceDay {
  /** Days since 1970, UTC. */
  readonly day: number
  readonly rows: number
}

/** Records that are still to be exported, of the oldest batches. */
export interface Unexported {
  /** For `exported`. */
  readonly ids: readonly number[]
  readonly rows: readonly StoredEvidence[]
}

export interface UnexportedCount {
  readonly records: number
  /** Epoch milliseconds of the oldest batch among them; null without any. */
  readonly oldest_ms: number | null
  /** False when another server has set exporters without this one. */
  readonly is_known: boolean
}

/** The records that are to be exported: all that arrive while there is the exporter. */
export interface ExportStore {
  /**
   * Sets who exports from now on. Returns how many records the exporters that are not named any
   * more still had, which are forgotten.
   */
  setExporters(names: readonly string[]): Promise<number>
  /** Adds one exporter to the others. */
  addExporter(name: string): Promise<void>
  /**
   * Lends an exporter to one holder, until it has not asked for `forMs`. Several servers so do not
   * export the same; an export that lasts longer may be repeated by another. A lease that ends more
   * than ten minutes later than one of now would is not obeyed: its clock was wrong.
   */
  lease(exporter: string, holder: string, nowMs: number, forMs: number): Promise<boolean>
  /** Parts of batches with together at most `most` records; one part at least. */
  unexported(exporter: string, most: number): Promise<Unexported>
  /** Durable before it resolves: these are never answered again. */
  exported(ids: readonly number[]): Promise<void>
  countUnexported(exporter: string): Promise<UnexportedCount>
  /** Forgets records of days before this one that were never exported, and counts them. */
  dropUnexported(day: number): Promise<number>
}

/**
 * The decision records that machines have uploaded. It is apart from the policies: a full disk or a
 * broken file here changes nothing there. All drivers pass
 * `test/server/evidence/store/evidence-conformance.ts`. Every method throws `StoreError`. U+0000,
 * which PostgreSQL cannot store, is stored and found as U+FFFD.
 */
export interface EvidenceStore extends ExportStore {
  /**
   * Null before the first batch of a device. `received_ms` is later than that of each chain before,
   * also when batches arrive in one millisecond or the clock was set back.
   */
  chain(deviceId: string): Promise<DeviceChain | null>
  /**
   * Durable (on disk) before it resolves, and undone entirely when it throws.
   * `ERR_STORE_CONFLICT` when the chain has changed since it was read. A batch that would exceed a
   * limit is stored as one loss, and the limit is returned. `ERR_STORE_FULL` while the disk must
   * keep its rest for policies.
   */
  append(batch: EvidenceBatch, limits?: EvidenceLimits): Promise<ExceededLimit | null>
  list(org: string, filter: EvidenceFilter, page: EvidencePage): Promise<EvidenceSlice>
  /**
   * Counts the decisions in a part of a time by source and tuple. `readObserved` adds up the parts.
   */
  tally(
    org: string,
    time: Pick<EvidenceFilter, 'fromMs' | 'toMs'>,
    page: TallyPage,
  ): Promise<TallySlice>
  /**
   * Finds tuples by the keys of tallies. Those whose last row was removed in the meantime are
   * missing.
   */
  tuples(ids: readonly number[]): Promise<ReadonlyMap<number, EvidenceTuple>>
  sources(ids: readonly number[]): Promise<ReadonlyMap<number, EvidenceSource>>
  /** Losses of a device in a time, counted by reason; `at_ms` is that of the last one. */
  losses(
    org: string,
    deviceId: string,
    time: Pick<EvidenceFilter, 'fromMs' | 'toMs'>,
  ): Promise<readonly EvidenceLoss[]>
  /**
   * When a batch of the organization was last stored as a loss because of a limit, in epoch
   * milliseconds; null if never, or before the days that are kept.
   */
  lastLimited(org: string): Promise<number | null>
  /**
   * Where a rule matched from a day on, days since 1970. Takes a number of steps that grows with
   * `seeks`, not with the records.
   */
  ruleUse(org: string, ruleId: string, from: RuleUseBounds): Promise<RuleUse>
  /** The first day with a row of the organization, days since 1970; null without one. */
  firstDay(org: string): Promise<number | null>
  /** Lists the days of all organizations, ascending. */
  days(): Promise<readonly EvidenceDay[]>
  /**
   * Removes all rows and losses of days before this one, and the tuples without a row. Returns the
   * rows. One that fails may be repeated.
   */
  dropBefore(day: number): Promise<number>
  /**
   * Removes all rows and losses of the owner, the tuples that no other has, and gives room back to
   * the disk. Returns the rows. Chains stay, so that machines do not send the same again.
   */
  dropOwned(owner: EvidenceOwner): Promise<number>
  ping(): Promise<void>
  /** Lets running work finish, then closes. */
  close(): Promise<void>
}

/** The part of a store that a thread of its own reads, with a connection of its own. */
export type EvidenceReading = Pick<EvidenceStore, 'tally' | 'tuples' | 'sources' | 'close'>
