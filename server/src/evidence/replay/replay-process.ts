import { Readable } from 'node:stream'
import type { StartWorker } from '../../platform/start-worker.ts'
import type { ReplayJob, ReplayMessage } from './replay-job.ts'

/** Crafted patterns can take long to compile, and a database long to answer. Others wait. */
const TIME_LIMIT_MS = 5 * 60_000
/** Enough for 20 MB at 350 kB/s. */
const SEND_WITHIN_MS = 60_000

export interface ReplayProcessOptions {
  readonly startWorker: StartWorker
  readonly timeLimitMs?: number
}

/**
 * Runs a job as a stream of lines. It is destroyed when its reader has not taken the last line
 * within `sendWithinMs` of the end of the process: a reader who stalls would keep a turn of all
 * organizations.
 */
export function streamReplay(
  job: ReplayJob,
  {
    sendWithinMs = SEND_WITHIN_MS,
    ...options
  }: ReplayProcessOptions & { readonly sendWithinMs?: number },
): Readable {
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => void stream.destroy(new Error('the replay was read too slowly'))
  const onLast = (): void => {
    timer = setTimeout(stop, sendWithinMs).unref()
  }
  // As a stream of objects: each line is one.
  const stream = Readable.from(replayInProcess(job, options, onLast), { highWaterMark: 1 })
  return stream.once('close', () => clearTimeout(timer))
}

/**
 * Runs a job in a process of its own and yields its lines: progress, and at the end a result or an
 * error. Progress that the reader is too slow for is left out. The process ends with the iteration.
 * `onLast` is called once the last line is known.
 */
export async function* replayInProcess(
  job: ReplayJob,
  { startWorker, timeLimitMs = TIME_LIMIT_MS }: ReplayProcessOptions,
  onLast: () => void = () => {},
): AsyncGenerator<string, void, undefined> {
  const worker = startWorker('replay-worker', {
    workerData: job,
    transferList: job.policies.map(({ buffer }) => buffer),
  })
  worker.unref()
  let last: ReplayMessage | null = null
  let wake = Promise.withResolvers<void>()
  const take = (message: ReplayMessage): void => {
    if (last !== null && last.kind !== 'progress') return
    last = message
    if (message.kind !== 'progress') onLast()
    wake.resolve()
  }
  const fail = (message: string) => () => take({ kind: 'failed', message })
  const timer = setTimeout(fail('the replay takes too long; replay fewer days'), timeLimitMs)
  timer.unref()
  worker.on('message', take)
  worker.once('error', fail('the replay takes too much memory; replay fewer days'))
  worker.once('exit', fail('the replay has ended early; send it again'))
  try {
    for (;;) {
      await wake.promise
      wake = Promise.withResolvers()
      const message = last as ReplayMessage | null
      if (message?.kind === 'progress') last = null
      if (message !== null) yield formatLine(message)
      if (message !== null && message.kind !== 'progress') return
    }
  } finally {
    clearTimeout(timer)
    await worker.terminate()
  }
}

function formatLine(message: ReplayMessage): string {
  if (message.kind !== 'failed') return `${message.line}\n`
  return `${JSON.stringify({ error: { code: 'internal', message: message.message } })}\n`
}
