import { backOffMs } from '@palisade/client'
import type { EvidenceSettings, RecordPosition, UploadStatus } from '@palisade/protocol'
import { isDeepStrictEqual } from 'node:util'
import { internalFault, type Fault } from '../../sync/fault.ts'
import type { DiskPosition } from '../record-reader.ts'
import type { ReadBatch, ReadFrom } from './batch-reader.ts'
import { createBatchSize, type BatchSize } from './batch-size.ts'
import { createUploadProgress } from './upload-progress.ts'
import { createUploadTurns } from './upload-turns.ts'

/** Times in milliseconds. */
export interface UploadPace {
  /** Bound of the random pause before the first question. */
  readonly startMs: number
  /** Time in which records are collected for one batch. */
  readonly collectMs: number
  /** Time for a batch once a denial is among its records. */
  readonly denialMs: number
  /** Time for a batch while its records stay on this machine, and only their number leaves. */
  readonly keptMs: number
  /** Least pause after a failure. */
  readonly restMs: number
  /** Lines on disk that one batch covers at most. */
  readonly maxCovered: number
  /** Lines that do not wait to be collected. */
  readonly fullLines: number
}

export const UPLOAD_PACE: UploadPace = {
  startMs: 5_000,
  collectMs: 60_000,
  denialMs: 5_000,
  keptMs: 10 * 60_000,
  restMs: 1_000,
  maxCovered: 20_000,
  fullLines: 3_000,
}

const RETRY = { firstMs: 5_000, capMs: 15 * 60_000 } as const
/** A smaller batch is another question, for which the server need not be left alone for long. */
const REFUSED = { firstMs: 1_000, capMs: 60_000 } as const
const DAY_MS = 24 * 60 * 60_000
/** Share of the day, to either side. */
const JITTER = 0.1
/** Statuses of a server that does not take this batch, whenever it is sent. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 413, 415, 422])

export type Answer =
  | { readonly kind: 'position'; readonly position: RecordPosition | null }
  /** The server knows no upload. */
  | { readonly kind: 'absent' }
  | Fault

export interface UploaderDeps {
  /** Null while the upload is off. */
  readonly settings: () => EvidenceSettings | null
  readonly disk: {
    readonly findStart: (position: RecordPosition | null) => Promise<DiskPosition>
    readonly countLines: (start: DiskPosition) => Promise<number>
    readonly readBatch: (
      from: ReadFrom,
      settings: EvidenceSettings,
      size: ReturnType<BatchSize['read']>,
    ) => Promise<ReadBatch | null>
  }
  /** Must not reject, as `send`. */
  readonly ask: (signal: AbortSignal) => Promise<Answer>
  readonly send: (text: string, signal: AbortSignal) => Promise<Answer>
  readonly pace: UploadPace
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  /** 0 to 1, exclusive. */
  readonly random: () => number
  readonly onError: (error: unknown) => void
}

/** How soon new lines are sent. */
export type Urgency = 'denial' | 'record' | 'kept'

/** Sends decision records to the server. No other part waits for it or depends on it. */
export interface Uploader {
  /** Call after a possible change of the settings. */
  notice(): void
  /** Call with the number of lines that the recorder has written. */
  add(lines: number, urgency: Urgency): void
  status(): UploadStatus
  /** Aborts a running attempt; resolves when it has ended. */
  stop(): Promise<void>
}

/**
 * Sends one batch at a time, each after the receipt of the one before. Keeps no state on disk: the
 * server's position tells what is left to send after a start and after each failure.
 */
export function createUploader(deps: UploaderDeps): Uploader {
  const { disk, pace, random } = deps
  const stopping = new AbortController()
  const progress = createUploadProgress(deps.now)
  const size = createBatchSize(pace.maxCovered)
  const failAll = (error: unknown): void => fail(reportFault(error, deps.onError))
  const turns = createUploadTurns({ ...deps, run: () => attempt().catch(failAll) })
  let isOn = false
  /** Null until the server has told its position. */
  let from: ReadFrom | null = null
  /** The farthest position with a receipt: only progress beyond it ends a series of failures. */
  let farthest: DiskPosition = { segment: 0, offset: 0 }
  let failures = 0
  /** Lines since the last batch was read. */
  let collected = 0

  /** Forgets the position, because the server may have received the batch or lost others. */
  const fail = (fault: Fault, sent: ReadBatch | null = null): void => {
    if (fault.code === 'stopping') return
    progress.fail(fault)
    const isRefused = sent !== null && REFUSALS.has(fault.status)
    if (isRefused) size.shrink(sent.covered)
    if (fault.code !== 'busy') from = null
    const pauseMs = backOffMs(failures, { ...(isRefused ? REFUSED : RETRY), random })
    turns.pause((fault.retryAfterMs ?? 0) + pace.restMs + pauseMs)
    failures += 1
  }

  const settle = (): void => {
    failures = 0
    progress.settle()
  }

  /** The position of an answer; undefined, after a pause has begun, for another answer. */
  const accept = (answer: Answer, sent?: ReadBatch): RecordPosition | null | undefined => {
    if (answer.kind === 'position') return answer.position
    if (answer.kind === 'fault') fail(answer, sent)
    else {
      from = null
      progress.fail(NOT_SUPPORTED)
      turns.pause(DAY_MS * (1 - JITTER + 2 * JITTER * random()))
    }
    return undefined
  }

  const askPosition = async (): Promise<ReadFrom | null> => {
    const position = accept(await deps.ask(stopping.signal))
    if (position === undefined) return null
    const start = await disk.findStart(position)
    progress.begin(position, await disk.countLines(start))
    return { start, position }
  }

  /** Null after the upload was turned off. */
  const readSettings = (): EvidenceSettings | null => {
    const settings = deps.settings()
    isOn = settings !== null
    if (settings !== null) return settings
    from = null
    progress.end()
    return null
  }

  const attempt = async (): Promise<void> => {
    if (readSettings() === null) return
    from ??= await askPosition()
    // Read again: a server that is slow to tell its position must not prolong earlier settings.
    const settings = readSettings()
    if (from === null || settings === null) return
    collected = 0
    const batch = await disk.readBatch(from, settings, size.read())
    if (batch === null) {
      progress.cover(null, 0)
      return settle()
    }
    if (!isDeepStrictEqual(deps.settings(), settings)) return turns.within(0)
    const position = accept(await deps.send(batch.text, stopping.signal), batch)
    if (position === undefined) return
    if (isSame(position, batch.position)) receive(batch)
    else fail(WRONG_RECEIPT)
  }

  const receive = ({ position, end, covered, isFull }: ReadBatch): void => {
    from = { start: end, position }
    progress.cover(position, isFull ? covered : null, collected)
    size.grow()
    const isProgress = isAfter(end, farthest)
    if (isProgress) {
      farthest = end
      settle()
    }
    if (isFull && isProgress) turns.within(0)
    // A server that loses batches again and again gets them slowly.
    else if (isFull) turns.pause(pace.restMs + backOffMs(failures, { ...RETRY, random }))
  }

  return {
    notice() {
      const isWanted = deps.settings() !== null
      if (isWanted === isOn) return
      isOn = isWanted
      turns.within(isWanted ? pace.startMs * random() : 0)
    },
    add(lines, urgency) {
      if (!isOn) return
      progress.add(lines)
      collected += lines
      turns.within(collected >= pace.fullLines ? 0 : PAUSE_OF[urgency](pace))
    },
    status: () => ({ mode: deps.settings()?.upload ?? 'off', ...progress.read() }),
    async stop() {
      stopping.abort()
      await turns.stop()
    },
  }
}

const PAUSE_OF: Readonly<Record<Urgency, (pace: UploadPace) => number>> = {
  denial: ({ denialMs }) => denialMs,
  record: ({ collectMs }) => collectMs,
  kept: ({ keptMs }) => keptMs,
}

const WRONG_RECEIPT: Fault = {
  kind: 'fault',
  code: 'malformed',
  message: 'the server confirms other records than it was sent',
}

/** A server of an earlier version. */
const NOT_SUPPORTED = {
  code: 'not_supported',
  message: 'the server takes no decision records; it is asked again in a day',
} as const

function isSame(a: RecordPosition | null, b: RecordPosition): boolean {
  return a !== null && a.boot === b.boot && a.seq === b.seq && a.hash === b.hash
}

function isAfter(a: DiskPosition, b: DiskPosition): boolean {
  return a.segment > b.segment || (a.segment === b.segment && a.offset > b.offset)
}

function reportFault(error: unknown, report: (error: unknown) => void): Fault {
  report(error)
  return internalFault(error)
}
