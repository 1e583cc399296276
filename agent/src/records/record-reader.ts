import type { RecordDisk, Segment } from './record-disk.ts'

/** A complete line of a file of records, without its line feed. */
export interface StoredLine {
  readonly file: string
  readonly bytes: Buffer
}

/** A file that is not read to its end, or not at all. */
export interface UnreadableFile {
  readonly file: string
  readonly bytes: null
}

const CHUNK_BYTES = 64 * 1024
/** The longest line of this agent is shorter. */
const MAX_LINE_BYTES = 256 * 1024
const LINE_FEED = 0x0a

/**
 * Reads all records, the oldest first, without the agent that writes them. Text after the last line
 * feed of a file is skipped: it is a line that a crash cut off, or one that is being written. Reads
 * in pieces, so that other work runs in between.
 */
export async function* readOldestFirst(
  disk: Pick<RecordDisk, 'list' | 'open'>,
): AsyncGenerator<StoredLine | UnreadableFile> {
  for (const segment of await disk.list()) yield* readSegment(disk, segment, readForwards)
}

/** Reads all records, the newest first, likewise. */
export async function* readNewestFirst(
  disk: Pick<RecordDisk, 'list' | 'open'>,
): AsyncGenerator<StoredLine | UnreadableFile> {
  const segments = await disk.list()
  for (const segment of segments.toReversed()) yield* readSegment(disk, segment, readBackwards)
}

/** A position between two lines: that many bytes into the file of that number. */
export interface DiskPosition {
  readonly segment: number
  readonly offset: number
}

/** A complete line, without its line feed, and the position after it. */
export interface PositionedLine {
  readonly bytes: Buffer
  readonly end: DiskPosition
}

/**
 * Reads the complete lines from a position on, the oldest first. Files before it and files that
 * cannot be read are skipped; the position may be in a file that was deleted.
 */
export async function* readOnwards(
  disk: Pick<RecordDisk, 'list' | 'open'>,
  from: DiskPosition,
): AsyncGenerator<PositionedLine> {
  for (const segment of await disk.list()) {
    const { number } = segment
    if (number < from.segment) continue
    const start = number === from.segment ? from.offset : 0
    let offset = start
    const readRest: ReadLines = (read, size) =>
      readForwards((position, length) => read(start + position, length), size - start)
    for await (const { bytes } of readSegment(disk, segment, readRest)) {
      if (bytes === null) break
      offset += bytes.byteLength + 1
      yield { bytes, end: { segment: number, offset } }
    }
  }
}

/** Whether the file ends in a part of a line. False for a file that cannot be read. */
export async function isTorn(disk: Pick<RecordDisk, 'open'>, segment: Segment): Promise<boolean> {
  const file = await disk.open(segment).catch(() => null)
  if (file === null) return false
  try {
    const last = file.bytes === 0 ? null : await file.read(file.bytes - 1, 1)
    return last !== null && last[0] !== LINE_FEED
  } finally {
    await file.close()
  }
}

type Read = (position: number, length: number) => Promise<Buffer>
/** Returns false for a file with a line that is too long. */
type ReadLines = (read: Read, size: number) => AsyncGenerator<Buffer, boolean>

async function* readSegment(
  disk: Pick<RecordDisk, 'open'>,
  { name, isOurs }: Segment,
  readLines: ReadLines,
): AsyncGenerator<StoredLine | UnreadableFile> {
  const file = isOurs ? await disk.open({ name }).catch(() => null) : null
  if (file === null) {
    yield { file: name, bytes: null }
    return
  }
  try {
    const lines = readLines((...at) => file.read(...at), file.bytes)
    for (;;) {
      const { done, value } = await lines.next()
      if (done !== true) yield { file: name, bytes: value }
      else if (value) return
      else break
    }
  } catch {
    // A failing disk: the rest of this file is unreadable, the other files may be whole.
  } finally {
    await file.close()
  }
  yield { file: name, bytes: null }
}

async function* readForwards(read: Read, size: number): AsyncGenerator<Buffer, boolean> {
  let rest: Buffer = Buffer.alloc(0)
  for (let position = 0; position < size;) {
    const chunk = await read(position, Math.min(CHUNK_BYTES, size - position))
    if (chunk.byteLength === 0) return true
    position += chunk.byteLength
    const held = Buffer.concat([rest, chunk])
    let start = 0
    for (let end = held.indexOf(LINE_FEED); end >= 0; end = held.indexOf(LINE_FEED, start)) {
      yield held.subarray(start, end)
      start = end + 1
    }
    rest = held.subarray(start)
    if (rest.byteLength > MAX_LINE_BYTES) return false
  }
  return true
}

async function* readBackwards(read: Read, size: number): AsyncGenerator<Buffer, boolean> {
  let rest: Buffer = Buffer.alloc(0)
  /** Whether the last line feed was found; a part of a line may follow it. */
  let isComplete = false
  for (let position = size; position > 0;) {
    const length = Math.min(CHUNK_BYTES, position)
    position -= length
    const held = Buffer.concat([await read(position, length), rest])
    let end = held.byteLength
    for (let at = held.lastIndexOf(LINE_FEED); at >= 0;) {
      if (isComplete) yield held.subarray(at + 1, end)
      isComplete = true
      end = at
      at = at === 0 ? -1 : held.lastIndexOf(LINE_FEED, at - 1)
    }
    rest = held.subarray(0, end)
    if (rest.byteLength > MAX_LINE_BYTES) return false
  }
  if (isComplete) yield rest
  return true
}
