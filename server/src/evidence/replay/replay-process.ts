import { Readable } from 'node:stream'
import { isOutOfMemory, type StartWorker } from '../../platform/start-worker.ts'
import { callWorker, SilentWorkerError, type WorkerEnd } from '../../work/worker-calls.ts'
import type { ReplayJob } from './replay-job.ts'

/** Crafted patterns can take long to compile, and a database long to answer. Others wait. */
const TIME_LIMIT_MS = 5 * 60_000
/** Enough for 20 MB at 350 kB/s. */
const SEND_WITHIN_MS = 60_000

export interface ReplayProcessOptions {
  readonly startWorker: StartWorker
  readonly timeLimitMs?: number
  readonly sendWithinMs?: number
}

/** A job in a process of its own. */
export interface RunningReplay {
  /**
   * Progress, and at the end a result or an error. Progress that the reader is too slow for is left
   * out. The process ends with the stream. A reader who has not taken the last line within
   * `sendWithinMs` gets an error instead.
   */
  readonly lines: Readable
  /** Resolves when the process has ended; its last line may not be read yet. */
  readonly ended: Promise<void>
}

/** A line for the reader: of progress, or the last one. */
interface Line {
  readonly text: string
  readonly isLast: boolean
}

/** Starts a job. */
export function startReplay(
  job: ReplayJob,
  { startWorker, timeLimitMs = TIME_LIMIT_MS, sendWithinMs = SEND_WITHIN_MS }: ReplayProcessOptions,
): RunningReplay {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  let line: Line | null = null
  let isWanted = false
  let timer: NodeJS.Timeout | undefined
  const startTimer = (ms: number, call: () => void): void => {
    clearTimeout(timer)
    timer = setTimeout(call, ms).unref()
  }
  const calls = callWorker(startWorker('replay-worker', {}), {
    answerWithinMs: timeLimitMs,
    refuse: describeEnd,
    onNotice: (text) => take({ text: String(text), isLast: false }),
  })
  const endProcess = (cause: Error): void => void calls.end(cause).then(resolve)

  const lines = new Readable({
    // Each line is one object.
    objectMode: true,
    highWaterMark: 1,
    read() {
      isWanted = true
      send()
    },
    destroy(error, done) {
      clearTimeout(timer)
      endProcess(new Error('the reader has gone'))
      done(error)
    },
  })

  function send(): void {
    if (!isWanted || line === null) return
    const { text, isLast } = line
    isWanted = false
    if (!isLast) line = null
    lines.push(`${text}\n`)
    if (isLast) lines.push(null)
  }

  function take(taken: Line): void {
    if (lines.destroyed || line?.isLast === true) return
    line = taken
    if (taken.isLast) {
      endProcess(new Error('the replay is over'))
      startTimer(sendWithinMs, () => lines.destroy(new Error('the replay was read too slowly')))
    }
    send()
  }

  async function run(): Promise<void> {
    const buffers = job.policies.map(({ buffer }) => buffer)
    try {
      take({ text: await calls.call<string>(job, undefined, buffers), isLast: true })
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      take({ text: JSON.stringify({ error: { code: 'internal', message } }), isLast: true })
    }
  }

  // Progress is an answer too, and must not lengthen the whole.
  startTimer(timeLimitMs, () => endProcess(new SilentWorkerError(timeLimitMs)))
  void run()
  return { lines, ended }
}

function describeEnd({ cause }: WorkerEnd): Error {
  if (cause instanceof SilentWorkerError)
    return new Error('the replay takes too long; replay fewer days')
  if (isOutOfMemory(cause)) return new Error('the replay takes too much memory; replay fewer days')
  return new Error('the replay has ended early; send it again')
}
