import {
  MAX_UPLOAD_BYTES,
  MAX_UPLOAD_LINES,
  batchLineSchema,
  type BatchHeader,
  type BatchLine,
  type EvidenceSettings,
  type RecordPosition,
} from '@palisade/protocol'
import type { DiskLine } from './disk-line.ts'
import { isUploaded, redactRecord } from './redact-record.ts'

/** A batch that is ready to be compressed. */
export interface RecordBatch {
  /** Header and lines, each with its line feed. */
  readonly text: string
  /** Position of the last line on disk that it covers. */
  readonly position: RecordPosition
  /** Lines on disk that it covers. */
  readonly covered: number
}

export interface BatchOptions {
  readonly settings: EvidenceSettings
  readonly deviceId: string
  /** Lines on disk that the batch may cover. */
  readonly maxCovered: number
  /** Whether its first record only says that it was left out, because the server refuses it. */
  readonly isWithheld: boolean
}

/** Collects lines of one boot until they are as many as one batch may have. */
export interface BatchBuilder {
  /** Returns false for a line that belongs into the next batch. */
  add(line: DiskLine): boolean
  /** Null without a line. */
  finish(): RecordBatch | null
}

/** Incompressible text grows a little by gzip, and the body must not exceed its limit. */
const MAX_TEXT_BYTES = MAX_UPLOAD_BYTES - 8 * 1024
/** The header, and the lines that were left out last. */
const RESERVED_BYTES = 1024

export function createBatch(options: BatchOptions): BatchBuilder {
  const texts: string[] = []
  /** In `texts`. */
  let lines = 0
  let bytes = RESERVED_BYTES
  let header: BatchHeader | null = null
  let last: DiskLine | null = null
  let covered = 0
  /** Decisions of the newest lines that stay here; null when the newest line does not. */
  let leftOut: number | null = null

  const formatLeftOut = (): string =>
    last === null || leftOut === null
      ? ''
      : formatLine({ seq: last.seq, hash: last.hash, left_out: leftOut })

  const isFull = (): boolean => covered >= options.maxCovered || lines + 4 > MAX_UPLOAD_LINES

  /** Returns whether there is room for it. */
  const append = (shown: BatchLine): boolean => {
    const text = formatLeftOut() + formatLine(shown)
    const size = Buffer.byteLength(text)
    if (texts.length > 0 && bytes + size > MAX_TEXT_BYTES) return false
    texts.push(text)
    lines += leftOut === null ? 1 : 2
    bytes += size
    return true
  }

  return {
    add(line) {
      const { boot, seq, previous } = line
      if (last !== null && (isFull() || !isNext(line, last))) return false
      const shown = options.isWithheld && header === null ? null : showLine(line, options)
      if (shown !== null && !append(shown)) return false
      leftOut = shown === null ? (leftOut ?? 0) + countOf(line) : null
      header ??= { boot, first: seq, previous }
      last = line
      covered += 1
      return true
    },
    finish() {
      if (header === null || last === null) return null
      const { boot, seq, hash } = last
      const text = formatLine(header) + texts.join('') + formatLeftOut()
      return { text, position: { boot, seq, hash }, covered }
    },
  }
}

/**
 * Whether the chain holds between two lines. Where one was deleted or changed on disk, the header
 * of the next batch shows it to the server.
 */
function isNext({ boot, seq, previous }: DiskLine, last: DiskLine): boolean {
  return boot === last.boot && seq === last.seq + 1 && previous === last.hash
}

/** Null for a line that stays here. */
function showLine({ seq, hash, record }: DiskLine, options: BatchOptions): BatchLine | null {
  if (record === null) return null
  if ('lost' in record) {
    const { time, lost, reason } = record
    return { seq, hash, time, lost, reason }
  }
  const redacted = redactRecord(record, options.settings)
  if (!isUploaded(redacted, options.settings, options.deviceId)) return null
  // A line that was changed on disk may have members that no server takes.
  return batchLineSchema.safeParse({ seq, hash, record: redacted }).data ?? null
}

/** Ended connections were counted when they began. */
function countOf({ record }: DiskLine): number {
  if (record === null) return 0
  if ('lost' in record) return record.lost
  return record.flow === undefined ? record.count : 0
}

function formatLine(line: BatchHeader | BatchLine): string {
  return `${JSON.stringify(line)}\n`
}
