import { NO_LIMITS } from '../evidence-limits.ts'
import type { EvidenceBatch, EvidenceStore } from '../evidence-store.ts'
import type { UnusedPosition } from './drop-rows.ts'
import type { EvidenceReader, EvidenceWriter } from './evidence-rows.ts'
import type { RemovedParts } from './unexported-rows.ts'

/** Connections and transactions of a database. */
export interface EvidenceDriver {
  /** Runs `work` on one snapshot. */
  read<T>(work: (reader: EvidenceReader) => Promise<T>): Promise<T>
  /** Runs `work`, which writes this batch, in a durable transaction. */
  append<T>(batch: EvidenceBatch, work: (writer: EvidenceWriter) => Promise<T>): Promise<T>
  /** Runs `work` in a durable transaction, beside others. */
  write<T>(work: (writer: EvidenceWriter) => Promise<T>): Promise<T>
  /** Runs `work` in a transaction beside which no process appends. */
  alone<T>(work: (writer: EvidenceWriter) => Promise<T>): Promise<T>
  /** Removes rows of whole days before this one, where the database can do that at once. */
  dropWholeDays(before: number): Promise<void>
  /**
   * Gives room of removed rows back to the disk, where the database does not by itself. After each
   * step of a removal: on a full disk, the log of the next one would have none.
   */
  giveBack(): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
}

export function createEvidenceStore(driver: EvidenceDriver): EvidenceStore {
  async function dropUnused(before: number): Promise<void> {
    let after: UnusedPosition | null = { tuple: 0, source: 0 }
    while (after !== null) {
      const position: UnusedPosition = after
      after = await driver.alone((writer) => writer.dropUnused(before, position))
    }
  }

  /** Returns the records. `settle` runs after each step. */
  async function removeParts(
    step: (writer: EvidenceWriter) => Promise<RemovedParts>,
    settle: () => Promise<void> = async () => {},
  ): Promise<number> {
    let records = 0
    for (;;) {
      const removed = await driver.alone(step)
      records += removed.records
      await settle()
      if (removed.isLast) return records
    }
  }

  return {
    chain: (deviceId) => driver.read((reader) => reader.chain(deviceId)),
    append: (batch, limits = NO_LIMITS) =>
      driver.append(batch, (writer) => writer.append(batch, limits)),
    list: (org, filter, page) => driver.read((reader) => reader.list(org, filter, page)),
    tally: (org, time, page) => driver.read((reader) => reader.tally(org, time, page)),
    tuples: (ids) => driver.read((reader) => reader.tuples(ids)),
    sources: (ids) => driver.read((reader) => reader.sources(ids)),
    losses: (org, device, time) => driver.read((reader) => reader.losses(org, device, time)),
    lastLimited: (org) => driver.read((reader) => reader.lastLimited(org)),
    ruleUse: (org, rule, from) => driver.read((reader) => reader.ruleUse(org, rule, from)),
    firstDay: (org) => driver.read((reader) => reader.firstDay(org)),
    days: () => driver.read((reader) => reader.days()),
    setExporters: (names) => removeParts((writer) => writer.setExporters(names)),
    addExporter: (name) => driver.write((writer) => writer.addExporter(name)),
    lease: (exporter, holder, nowMs, forMs) =>
      driver.write((writer) => writer.lease(exporter, holder, nowMs, forMs)),
    unexported: (exporter, most) => driver.read((reader) => reader.unexported.take(exporter, most)),
    exported: (ids) => driver.write((writer) => writer.exported(ids)),
    countUnexported: (exporter) => driver.read((reader) => reader.unexported.count(exporter)),
    dropUnexported: (day) => removeParts((writer) => writer.dropUnexported(day)),
    async dropBefore(day) {
      const rows = await driver.alone((writer) => writer.dropDays(day))
      await driver.dropWholeDays(day)
      while (await driver.alone((writer) => writer.dropOld(day)));
      await dropUnused(day)
      return rows
    },
    async dropOwned(owner) {
      const rows = await removeParts((writer) => writer.dropSome(owner), driver.giveBack)
      let after: number | null = 0
      while (after !== null) {
        const position: number = after
        after = await driver.alone((writer) => writer.dropTuplesAfter(owner.org, position))
        await driver.giveBack()
      }
      return rows
    },
    ping: () => driver.ping(),
    close: () => driver.close(),
  }
}
