import type { RecordPosition } from '@palisade/protocol'
import { setImmediate } from 'node:timers/promises'
import type { RecordDisk, Segment } from '../record-disk.ts'
import { readOnwards, type DiskPosition } from '../record-reader.ts'
import { readDiskLine, type DiskLine } from './disk-line.ts'
import { createBatch, type BatchOptions, type RecordBatch } from './record-batch.ts'

/** Lines that are read in one turn of the event loop, because decisions take turns with them. */
const LINES_A_TURN = 32
const COUNTED_A_TURN = 1_024

/** A batch, and the position after its last line. */
export interface ReadBatch extends RecordBatch {
  readonly end: DiskPosition
  /** Whether lines follow that did not fit. */
  readonly isFull: boolean
}

/** Where to read on. */
export interface ReadFrom {
  readonly start: DiskPosition
  /** Lines at or before it, of its boot, are not read again; null before the first batch. */
  readonly position: RecordPosition | null
}

/** The newest line that the recorder has written, of the present start. */
export interface WrittenEnd {
  readonly boot: string
  readonly seq: number
}

/** Where the records are, and the end of the ids of those starts whose lines may be sent. */
export interface ReadableDisk extends Pick<RecordDisk, 'list' | 'open'> {
  readonly owner: string
}

/**
 * The position on disk after the last line at or before a position of the chain. Without a line of
 * its boot, that of the oldest line.
 */
export async function findStart(
  disk: ReadableDisk,
  position: RecordPosition | null,
): Promise<DiskPosition> {
  if (position === null) return OLDEST
  const first = await findSegment(disk, position)
  if (first === null) return OLDEST
  let start: DiskPosition = { segment: first.number, offset: 0 }
  for await (const { line, end } of readLines(disk, start)) {
    if (line !== null && !isCovered(line, position)) break
    start = end
  }
  return start
}

/** Reads the lines of one boot for a batch; null without any. */
export async function readBatch(
  disk: ReadableDisk,
  { start, position }: ReadFrom,
  { written, ...options }: BatchOptions & { readonly written: WrittenEnd },
): Promise<ReadBatch | null> {
  const batch = createBatch(options)
  let end = start
  let isFull = false
  for await (const { line, end: next } of readLines(disk, start)) {
    const isOwn = line !== null && line.boot.endsWith(disk.owner)
    if (isOwn && !(position !== null && isCovered(line, position))) {
      if (isUnwritten(line, written)) break
      isFull = !batch.add(line)
      if (isFull) break
    }
    end = next
  }
  const finished = batch.finish()
  return finished === null ? null : { ...finished, end, isFull }
}

/** The number of complete lines from a position on that may be sent. */
export async function countLines(disk: ReadableDisk, start: DiskPosition): Promise<number> {
  let read = 0
  let count = 0
  for await (const { bytes } of readOnwards(disk, start)) {
    if (bytes.includes(disk.owner)) count += 1
    read += 1
    if (read % COUNTED_A_TURN === 0) await setImmediate()
  }
  return count
}

const OLDEST: DiskPosition = { segment: 0, offset: 0 }

/** Starts of the agent have files of their own, and the files of a start follow each other. */
async function findSegment(disk: ReadableDisk, position: RecordPosition): Promise<Segment | null> {
  let oldest: Segment | null = null
  for (const segment of (await disk.list()).toReversed()) {
    const line = await readFirst(disk, segment)
    if (line?.boot !== position.boot) continue
    oldest = segment
    if (line.seq <= position.seq) break
  }
  return oldest
}

async function readFirst(
  { open, owner }: Pick<ReadableDisk, 'open' | 'owner'>,
  segment: Segment,
): Promise<DiskLine | null> {
  const alone = { open, owner, list: async () => [segment] }
  for await (const { line } of readLines(alone, OLDEST)) if (line !== null) return line
  return null
}

async function* readLines(disk: ReadableDisk, start: DiskPosition) {
  let count = 0
  for await (const { bytes, end } of readOnwards(disk, start)) {
    yield { line: readDiskLine(bytes), end }
    count += 1
    if (count % LINES_A_TURN === 0) await setImmediate()
  }
}

function isCovered({ boot, seq }: DiskLine, position: RecordPosition): boolean {
  return boot === position.boot && seq <= position.seq
}

/**
 * A failed write may leave lines that the recorder cuts off again, and writes anew with the same
 * numbers and other hashes.
 */
function isUnwritten({ boot, seq }: DiskLine, written: WrittenEnd): boolean {
  return boot === written.boot && seq > written.seq
}
