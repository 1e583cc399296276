import type { RecordDraft } from './minute-window.ts'
import {
  extendChain,
  hashLine,
  startChain,
  type ChainEnd,
  type ChainedLine,
  type Loss,
} from './record-chain.ts'
import type { RecordDisk, Segment, SegmentFile } from './record-disk.ts'
import { isTorn, readNewestFirst, readOldestFirst } from './record-reader.ts'
import { parseLink } from './verify-records.ts'

export interface SegmentLimits {
  readonly maxSegmentBytes: number
  /** A file gets no more lines after this time, so that old lines can be deleted. */
  readonly maxSegmentMs: number
  /** Size of all files together. */
  readonly maxTotalBytes: number
  /** Time since the last line of a file. */
  readonly maxAgeMs: number
  readonly maxSegments: number
}

export type Written =
  | { readonly ok: true; readonly lines: readonly ChainedLine[] }
  /** `isLost` if a part may be on disk, so that the entries must not be written again. */
  | { readonly ok: false; readonly error: unknown; readonly isLost: boolean }

/** Appends to the chain of records. Each start begins a file; no existing file is changed. */
export interface RecordWriter {
  /** Entries become lines in their order. One call at a time. */
  write(entries: readonly (RecordDraft | Loss)[]): Promise<Written>
  /** Hash of the last line that this start has written; null without one. */
  head(): string | null
  /** Size of all files. */
  bytes(): number
  close(): Promise<void>
}

interface OpenSegment {
  readonly number: number
  readonly file: SegmentFile
  readonly openedMs: number
  /** Complete lines. */
  bytes: number
}

export function createRecordWriter(deps: {
  readonly disk: RecordDisk
  readonly boot: string
  /** In each line, if given. */
  readonly salt?: string
  readonly limits: SegmentLimits
  /** Epoch milliseconds. */
  readonly now: () => number
}): RecordWriter {
  const { disk, boot, limits, now } = deps
  /** Null until the end of the files is known. */
  let chain: ChainEnd | null = null
  let segment: OpenSegment | null = null
  let olderBytes = 0

  const closeSegment = async (): Promise<void> => {
    const former = segment
    segment = null
    olderBytes += former?.bytes ?? 0
    await former?.file.close().catch(() => {})
  }

  const openSegment = async (previous: string): Promise<OpenSegment> => {
    await disk.prepare()
    const found = await disk.list()
    olderBytes = await prune(disk, found, { ...limits, nowMs: now(), previous })
    // Names that are taken, by anything, are not used again.
    const number = (found.at(-1)?.number ?? 0) + 1
    const file = await disk.create(number)
    segment = { number, file, openedMs: now(), bytes: 0 }
    return segment
  }

  const isFull = ({ bytes, openedMs }: OpenSegment, more: number): boolean =>
    bytes > 0 && (bytes + more > limits.maxSegmentBytes || now() - openedMs > limits.maxSegmentMs)

  /** The file for that many more bytes, whose first line has this `previous`. */
  const segmentFor = async (more: number, previous: string): Promise<OpenSegment> => {
    if (segment !== null && (isFull(segment, more) || !(await segment.file.isLinked())))
      await closeSegment()
    return segment ?? openSegment(previous)
  }

  const append = async (target: OpenSegment, text: string): Promise<Written | null> => {
    try {
      await target.file.append(text)
      target.bytes += Buffer.byteLength(text)
      return null
    } catch (error) {
      // A part of the text may be on disk.
      const isCut = await target.file.truncate(target.bytes).then(
        () => true,
        () => false,
      )
      if (isCut) return { ok: false, error, isLost: false }
      await closeSegment()
      chain = null
      return { ok: false, error, isLost: true }
    }
  }

  return {
    async write(entries) {
      try {
        const found: Found =
          chain === null ? await findEnd(disk, boot, now()) : { chain, losses: [] }
        const extended = extendChain(found.chain, [...found.losses, ...entries], deps.salt)
        const text = extended.lines.map((line) => `${line.text}\n`).join('')
        const target = await segmentFor(Buffer.byteLength(text), found.chain.previous)
        const failure = await append(target, text)
        if (failure !== null) return failure
        chain = extended.end
        return { ok: true, lines: extended.lines }
      } catch (error) {
        return { ok: false, error, isLost: false }
      }
    },
    head: () => (chain === null || chain.seq === 0 ? null : chain.previous),
    bytes: () => olderBytes + (segment?.bytes ?? 0),
    close: closeSegment,
  }
}

interface Found {
  readonly chain: ChainEnd
  readonly losses: readonly Loss[]
}

/** Finds the last complete line of all files, from which the chain goes on. */
async function findEnd(disk: RecordDisk, boot: string, atMs: number): Promise<Found> {
  const files = (await disk.list()).filter(({ isOurs, bytes }) => isOurs && bytes > 0)
  const newest = files.at(-1)
  if (newest === undefined) return { chain: startChain(boot), losses: [] }
  const losses: Loss[] = (await isTorn(disk, newest))
    ? [{ lost: 1, reason: 'torn_line', atMs }]
    : []
  let last: Buffer | null = null
  let isSkipped = false
  for await (const { bytes } of readNewestFirst(disk)) {
    last = bytes
    if (last !== null) break
    isSkipped = true
  }
  if (isSkipped || last === null) losses.push({ lost: 0, reason: 'unreadable', atMs })
  return { chain: last === null ? startChain(boot) : followLine(boot, last), losses }
}

/** A line of this start itself is the last one only after its file could not be written. */
function followLine(boot: string, bytes: Buffer): ChainEnd {
  const previous = hashLine(bytes)
  try {
    const line: unknown = JSON.parse(bytes.toString())
    if (typeof line === 'object' && line !== null && 'boot' in line && 'seq' in line)
      if (line.boot === boot && typeof line.seq === 'number')
        return { boot, seq: line.seq, previous }
  } catch {
    // The chain goes on from any bytes; a check of the chain finds the line.
  }
  return startChain(boot, previous)
}

/**
 * Deletes the oldest files: too many, too large or too old. Returns the size of the others. A file
 * that is emptied or deleted by others is found by the noted start of the chain. `previous` is that
 * of the next line.
 */
async function prune(
  disk: RecordDisk,
  found: readonly Segment[],
  limits: SegmentLimits & { readonly nowMs: number; readonly previous: string },
): Promise<number> {
  const files = found.filter(({ isOurs }) => isOurs)
  const room = limits.maxTotalBytes - limits.maxSegmentBytes
  let count = files.length
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const surplus = files.findIndex((file) => {
    const isOld = limits.nowMs - file.writtenMs > limits.maxAgeMs
    if (!isOld && total <= room && count < limits.maxSegments) return true
    total -= file.bytes
    count -= 1
    return false
  })
  const kept = surplus < 0 ? files.length : surplus
  if (kept === 0) return total
  const start = await findPrevious(disk, files.slice(kept))
  // Files that cannot be deleted must not stop the records, and neither must the note.
  await disk.writeStart(start ?? limits.previous).catch(() => {})
  for (const file of files.slice(0, kept)) await disk.remove(file).catch(() => {})
  return total
}

/** The `previous` of the first line of the files; null without a line. */
async function findPrevious(
  disk: Pick<RecordDisk, 'open'>,
  files: readonly Segment[],
): Promise<string | null> {
  for await (const { bytes } of readOldestFirst({ ...disk, list: async () => files }))
    if (bytes !== null) return parseLink(bytes)?.previous ?? null
  return null
}
