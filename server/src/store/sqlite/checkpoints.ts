import type { Database } from 'better-sqlite3'
import { startThread, type RunningWorker, type StartWorker } from '../../platform/start-worker.ts'
import { guard } from './sqlite-error.ts'

/**
 * Pages in the log (16 MiB) that are copied at once: a page that was written often is copied once.
 */
const PAGES = 4000

/** Brings the database up to date with its log, in a thread. */
export interface Checkpoints {
  /** To be called after a commit, outside of transactions. */
  committed(): void
  /** Resolves when the thread has closed its connection. */
  close(): Promise<void>
}

/** The data that the thread starts with. */
export interface CheckpointWorkerData {
  readonly path: string
}

/** The thread replies `null` when it is done, whether or not it succeeded. */
export type CheckpointRequest = 'checkpoint' | 'close'

interface LogSize {
  readonly log: number
  readonly checkpointed: number
}

/**
 * A checkpoint copies megabytes and flushes them, which would hold the event loop for longer than
 * all other turns. The thread has a connection of its own and never waits for a lock; it starts
 * with the first checkpoint that is due. Pages committed while it copies stay in the log, so
 * `writing` must also have an automatic checkpoint, at more pages. That one copies the remaining
 * pages, restarts the log, and does the whole work where no thread can be started.
 */
export function createCheckpoints(
  writing: Database,
  path: string,
  {
    pages = PAGES,
    startWorker = startThread,
  }: { readonly pages?: number; readonly startWorker?: StartWorker } = {},
): Checkpoints {
  // Tells of the log without copying anything.
  const size = guard(() => writing.prepare<[], LogSize>('PRAGMA wal_checkpoint(NOOP)'))
  let thread: RunningWorker | null = null
  let isBusy = false
  let hasFailed = false

  /** The commit is done: it must not fail because the log cannot be asked about. */
  function leftPages(): number {
    try {
      const { log, checkpointed } = size.get() ?? { log: 0, checkpointed: 0 }
      return log - checkpointed
    } catch {
      return 0
    }
  }

  function start(): RunningWorker {
    const workerData: CheckpointWorkerData = { path }
    const worker = startWorker('checkpoint-worker', { workerData, env: {} })
    worker.on('message', () => {
      isBusy = false
    })
    worker.once('error', () => {
      hasFailed = true
    })
    worker.unref()
    return worker
  }

  function send(worker: RunningWorker, request: CheckpointRequest): void {
    worker.postMessage(request, [])
  }

  return {
    committed() {
      if (isBusy || hasFailed) return
      if (leftPages() < pages) return
      thread ??= start()
      isBusy = true
      send(thread, 'checkpoint')
    },
    async close() {
      const worker = thread
      if (worker === null || hasFailed) return
      const exit = Promise.withResolvers<void>()
      worker.once('exit', () => exit.resolve())
      worker.ref()
      send(worker, 'close')
      await exit.promise
    },
  }
}
