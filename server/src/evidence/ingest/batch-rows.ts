import type { BatchLine, UploadedRecord } from '@palisade/protocol'
import {
  MAX_AHEAD_MS,
  type EvidenceLoss,
  type EvidenceRow,
  type EvidenceTuple,
} from '../store/evidence-record.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/**
 * Bounds of one row. A machine may claim any counts, and the sums of its rows must stay numbers
 * that the databases store and every answer can hold.
 */
const MOST_COUNTED = 1_000_000_000
const MOST_BYTES = 1_000_000_000_000_000
/** Machines keep their records for a week. */
const OLDEST_MS = 31 * 24 * HOUR_MS

/** The new lines of a batch as the store keeps them. */
export interface BatchRows {
  readonly rows: readonly EvidenceRow[]
  readonly losses: readonly EvidenceLoss[]
  readonly lost: number
  readonly left_out: number
}

/**
 * Sums up equal decisions of one minute. A record whose time cannot be right is counted as lost
 * with the reason `wrong_time`: it would hide in a day that is not looked at, or stay for ever.
 */
export function sumBatch(
  lines: readonly BatchLine[],
  { boot, receivedMs }: { readonly boot: string; readonly receivedMs: number },
): BatchRows {
  const rows = new Map<string, Sum>()
  const losses: EvidenceLoss[] = []
  let leftOut = 0
  const lose = (lost: number, reason: string, atMs: number): void => {
    if (lost > 0) losses.push({ at_ms: atMs, lost: Math.min(lost, MOST_COUNTED), reason })
  }
  for (const line of lines) {
    if ('left_out' in line) leftOut += Math.min(line.left_out, MOST_COUNTED)
    else if ('lost' in line) lose(line.lost, line.reason, boundedMs(line.time, receivedMs))
    else {
      const time = readTime(line.record, receivedMs)
      if (time === null) lose(line.record.count, 'wrong_time', receivedMs)
      else add(rows, line.record, time, boot)
    }
  }
  return {
    rows: [...rows.values()],
    losses,
    lost: losses.reduce((sum, { lost }) => sum + lost, 0),
    left_out: leftOut,
  }
}

/** A row that grows. */
interface Sum extends EvidenceRow {
  first_ms: number
  last_ms: number
  decisions: number
  flows: number
  bytes_sent: number
  bytes_received: number
}

/** Epoch milliseconds. */
interface RecordTime {
  readonly firstMs: number
  readonly lastMs: number
}

function add(
  rows: Map<string, Sum>,
  record: UploadedRecord,
  { firstMs, lastMs }: RecordTime,
  boot: string,
): void {
  const session = record.sandbox ?? boot
  const tuple = tupleOf(record)
  // JSON keeps the members apart, whatever characters they have.
  const key = JSON.stringify([Math.floor(lastMs / MINUTE_MS), session, tuple])
  let sum = rows.get(key)
  if (sum === undefined) {
    sum = { session, first_ms: firstMs, last_ms: lastMs, tuple, ...EMPTY }
    rows.set(key, sum)
  }
  sum.first_ms = Math.min(sum.first_ms, firstMs)
  sum.last_ms = Math.max(sum.last_ms, lastMs)
  if (record.flow === undefined) {
    sum.decisions = Math.min(sum.decisions + record.count, MOST_COUNTED)
  } else {
    sum.flows = Math.min(sum.flows + record.count, MOST_COUNTED)
    sum.bytes_sent = Math.min(sum.bytes_sent + record.flow.bytes_sent, MOST_BYTES)
    sum.bytes_received = Math.min(sum.bytes_received + record.flow.bytes_received, MOST_BYTES)
  }
}

const EMPTY = { decisions: 0, flows: 0, bytes_sent: 0, bytes_received: 0 } as const

function tupleOf(record: UploadedRecord): EvidenceTuple {
  const { point, protocol, decision, reason, rules, revision } = record
  return {
    point,
    protocol,
    ...targetOf(record.request),
    decision,
    reason,
    rules,
    ...(record.shadow === undefined ? {} : { shadow: record.shadow }),
    revision,
    stale: record.stale === true,
    break_glass: record.break_glass === true,
    program: record.program ?? null,
    os_user: record.os_user ?? null,
  }
}

type Target = Pick<EvidenceTuple, 'action' | 'address' | 'host' | 'path' | 'path_cut' | 'port'>

const NO_TARGET: Target = {
  action: null,
  host: null,
  port: null,
  address: null,
  path: null,
  path_cut: false,
}

function targetOf(request: UploadedRecord['request']): Target {
  if (request === null) return NO_TARGET
  const { action } = request
  if ('host' in request) {
    const { host, port, address = null } = request
    return { ...NO_TARGET, action, host, port, address }
  }
  return { ...NO_TARGET, action, path: request.path, path_cut: request.path_cut === true }
}

/** Null for a time that cannot be right. */
function readTime({ time, until }: UploadedRecord, receivedMs: number): RecordTime | null {
  const firstMs = Date.parse(time)
  const untilMs = until === undefined ? firstMs : Date.parse(until)
  const isRight = (ms: number): boolean =>
    ms >= receivedMs - OLDEST_MS && ms <= receivedMs + MAX_AHEAD_MS
  return isRight(firstMs) && isRight(untilMs)
    ? { firstMs, lastMs: Math.max(firstMs, untilMs) }
    : null
}

function boundedMs(time: string, receivedMs: number): number {
  return Math.min(Math.max(Date.parse(time), receivedMs - OLDEST_MS), receivedMs + MAX_AHEAD_MS)
}
