import { Worker } from 'node:worker_threads'
import { replayWorkerFile } from '../../platform/worker-file.ts'
import type { ReplayJob, ReplayMessage } from './replay-job.ts'

/** A million sightings with their groups take half of it. // bench: server/replay */
const MAX_HEAP_MIB = 800
/** Crafted patterns can take long to compile, and a database long to answer. */
const TIME_LIMIT_MS = 10 * 60_000

export interface ReplayThreadOptions {
  readonly file?: URL
  readonly timeLimitMs?: number
}

/**
 * Runs a job in a thread of its own and yields its lines: progress, and at the end a result or an
 * error. Progress that the reader is too slow for is left out. The thread ends with the iteration.
 */
export async function* replayInThread(
  job: ReplayJob,
  { file = replayWorkerFile(), timeLimitMs = TIME_LIMIT_MS }: ReplayThreadOptions = {},
): AsyncGenerator<string, void, undefined> {
  const worker = new Worker(file, {
    workerData: job,
    transferList: job.policies.map(({ buffer }) => buffer),
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    execArgv: [],
  })
  worker.unref()
  let last: ReplayMessage | null = null
  let wake = Promise.withResolvers<void>()
  const take = (message: ReplayMessage): void => {
    if (last !== null && last.kind !== 'progress') return
    last = message
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
