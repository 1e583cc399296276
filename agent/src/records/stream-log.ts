import { QUESTION_POINT, recordLineSchema, type RecordLine } from '@palisade/protocol'
import type { StreamReader } from '../http/stream-answer.ts'
import type { ChainedLine } from './record-chain.ts'
import type { RecordDisk } from './record-disk.ts'
import { readNewestFirst } from './record-reader.ts'
import type { Recorder } from './recorder.ts'

export interface LogQuery {
  /** Newest lines to begin with. */
  readonly limit: number
  /** Denials only. */
  readonly denied: boolean
  /** Whether to have questions to the local API too, which no enforcement point decided. */
  readonly questions: boolean
  /** Whether to go on with each line as it is written. */
  readonly follow: boolean
  /** Id of the sandbox whose records alone are wanted. */
  readonly sandbox?: string
}

/** Bound for lines that a caller has not read yet, in characters. */
const MAX_UNREAD = 1024 * 1024
/** Bound for the lines to begin with, in characters. */
const MAX_HISTORY = 8 * 1024 * 1024

/**
 * The newest lines of the records, the oldest of them first, each with its line feed; then, with
 * `follow`, each further line until the reader is gone. Lines on disk that are not records are left
 * out. A reader that is slower than the records is disconnected.
 */
export async function* streamLog(
  deps: {
    readonly disk: Pick<RecordDisk, 'list' | 'open'>
    readonly recorder: Pick<Recorder, 'flush' | 'subscribe'>
  },
  query: LogQuery,
  reader: StreamReader,
): AsyncGenerator<string> {
  // Followed before the history is read, so that no line is between them.
  const live = query.follow ? followLines(deps.recorder, query, reader) : null
  try {
    await deps.recorder.flush()
    const history = await readHistory(deps.disk, query)
    for (const { text } of history.toReversed()) yield `${text}\n`
    const last = history[0]?.record
    if (live === null) return
    for await (const { record, text } of live.lines) if (!isBefore(record, last)) yield `${text}\n`
  } finally {
    live?.end()
  }
}

/** The newest first. */
async function readHistory(
  disk: Pick<RecordDisk, 'list' | 'open'>,
  query: LogQuery,
): Promise<readonly ChainedLine[]> {
  const found: ChainedLine[] = []
  let size = 0
  for await (const { bytes } of readNewestFirst(disk)) {
    // Most lines of a machine are of other programs, and parsing a line takes long.
    const isOther = query.sandbox !== undefined && bytes?.includes(query.sandbox) !== true
    const line = bytes === null || isOther ? null : parseLine(bytes)
    if (line === null || !isWanted(line.record, query)) continue
    size += line.text.length
    if (size > MAX_HISTORY) break
    found.push(line)
    if (found.length === query.limit) break
  }
  return found
}

function parseLine(bytes: Buffer): ChainedLine | null {
  try {
    const text = bytes.toString('utf8')
    const parsed = recordLineSchema.safeParse(JSON.parse(text))
    return parsed.success ? { record: parsed.data, text } : null
  } catch {
    return null
  }
}

function isWanted(record: RecordLine, { denied, questions, sandbox }: LogQuery): boolean {
  if (!questions && 'decision' in record && record.point === QUESTION_POINT) return false
  if (sandbox !== undefined && !('decision' in record && record.sandbox === sandbox)) return false
  return !denied || ('decision' in record && record.decision.decision === 'deny')
}

/** Whether a line of this start is in the history already. */
function isBefore(record: RecordLine, last: RecordLine | undefined): boolean {
  return last !== undefined && record.boot === last.boot && record.seq <= last.seq
}

interface Following {
  readonly lines: AsyncGenerator<ChainedLine, void>
  end(): void
}

/** Subscribes at the call. */
function followLines(
  recorder: Pick<Recorder, 'subscribe'>,
  query: LogQuery,
  { signal, disconnect }: StreamReader,
): Following {
  let unread: ChainedLine[] = []
  let size = 0
  let isOver = false
  let arrived = Promise.withResolvers<void>()
  const stop = recorder.subscribe((lines) => {
    for (const line of lines) {
      if (!isWanted(line.record, query)) continue
      unread.push(line)
      size += line.text.length
    }
    if (size > MAX_UNREAD) disconnect()
    arrived.resolve()
  })
  const end = (): void => {
    stop()
    isOver = true
    arrived.resolve()
  }
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })

  async function* read(): AsyncGenerator<ChainedLine, void> {
    for (;;) {
      await arrived.promise
      if (isOver) return
      arrived = Promise.withResolvers()
      const lines = unread
      unread = []
      size = 0
      yield* lines
    }
  }
  return { lines: read(), end }
}
