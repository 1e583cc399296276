import type { Decision } from '@palisade/policy-core'
import type { DetailedPolicy } from '@palisade/protocol'
import { ApiError } from '../../platform/api-error.ts'
import { startThread, type RunningWorker, type StartWorker } from '../../platform/start-worker.ts'
import {
  READY,
  type EvaluatedSettings,
  type WorkerJob,
  type WorkerReply,
  type WorkerRequest,
} from './worker-messages.ts'

/** Enough for all kept sets and one more that is being compiled. */
const MAX_HEAP_MIB = 256
/** Crafted patterns can take many seconds to compile. */
const TIME_LIMIT_MS = 10_000
/** A thread may take seconds to start on a busy machine, which must not count for its first set. */
const START_LIMIT_MS = 30_000

const UTF8 = new TextEncoder()

/** A set of policies in the worker. */
export interface WorkerSet {
  add(policy: DetailedPolicy): void
  /**
   * Compiles the added policies and resolves to the time it took, in milliseconds. Throws
   * `UncompilableError` when the worker had to be terminated.
   */
  compile(settings: EvaluatedSettings): Promise<number>
  /** `now` in milliseconds since 1970. */
  decide(request: unknown, now: number): Promise<Decision>
  drop(): void
  /** Whether the set was dropped or its worker has ended. */
  isLost(): boolean
}

/** Compiles policies, which takes seconds for large sets, and decides in a thread of its own. */
export interface PolicyWorker {
  open(): WorkerSet
  close(): Promise<void>
}

/** The set exceeds the limit of time or memory; `tookMs` were spent on it. */
export class UncompilableError extends Error {
  override readonly name = 'UncompilableError'
  readonly tookMs: number

  constructor(tookMs: number) {
    super('the policies take too much time or memory to compile')
    this.tookMs = tookMs
  }
}

interface Job {
  readonly kind: 'compile' | 'decide'
  readonly resolve: (reply: WorkerReply) => void
  readonly reject: (error: Error) => void
}

/** One thread, started with the first set and again after a termination. */
interface Thread {
  readonly worker: RunningWorker
  /** In the order of sending, which is the order of the replies. */
  readonly jobs: Map<number, Job>
  isReady: boolean
  hasEnded: boolean
  /** Start of the first job. */
  startedMs: number
  timer: NodeJS.Timeout | undefined
}

export function createPolicyWorker({
  startWorker = startThread,
  timeLimitMs = TIME_LIMIT_MS,
}: { readonly startWorker?: StartWorker; readonly timeLimitMs?: number } = {}): PolicyWorker {
  let current: Thread | null = null
  let numbers = 0
  const next = (): number => (numbers += 1)

  function begin(): Thread {
    const worker = startWorker('policy-worker', {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    })
    // The process must not wait for this thread when it stops.
    worker.unref()
    const thread: Thread = {
      worker,
      jobs: new Map(),
      isReady: false,
      hasEnded: false,
      startedMs: 0,
      timer: undefined,
    }
    worker.on('message', (reply: WorkerReply | typeof READY) => {
      if (reply === READY) {
        thread.isReady = true
        watch(thread)
        return
      }
      const job = thread.jobs.get(reply.job)
      thread.jobs.delete(reply.job)
      watch(thread)
      job?.resolve(reply)
    })
    const ended = () => end(thread)
    worker.once('error', ended)
    worker.once('exit', ended)
    return thread
  }

  /** Blames the first job, which is the running one. */
  function end(thread: Thread): void {
    if (thread.hasEnded) return
    thread.hasEnded = true
    if (current === thread) current = null
    clearTimeout(thread.timer)
    const tookMs = performance.now() - thread.startedMs
    for (const [index, { kind, reject }] of [...thread.jobs.values()].entries())
      reject(index === 0 && kind === 'compile' ? new UncompilableError(tookMs) : tryAgain())
    void thread.worker.terminate()
  }

  function watch(thread: Thread): void {
    clearTimeout(thread.timer)
    thread.startedMs = performance.now()
    const limitMs = thread.isReady ? timeLimitMs : START_LIMIT_MS
    if (thread.jobs.size > 0) thread.timer = setTimeout(() => end(thread), limitMs).unref()
  }

  async function ask(thread: Thread, message: WorkerJob): Promise<WorkerReply> {
    if (thread.hasEnded) throw tryAgain()
    const { promise, resolve, reject } = Promise.withResolvers<WorkerReply>()
    thread.jobs.set(message.job, { kind: message.kind, resolve, reject })
    if (thread.jobs.size === 1) watch(thread)
    thread.worker.postMessage(message, [])
    const reply = await promise
    if (reply.kind === 'failed') throw new Error(reply.message)
    return reply
  }

  function open(): WorkerSet {
    const thread = (current ??= begin())
    const set = next()
    let isDropped = false
    return {
      add(policy) {
        // A buffer is transferred in one step; the strings of an object would be copied one by one.
        const bytes = UTF8.encode(JSON.stringify(policy))
        const message: WorkerRequest = { kind: 'add', set, policy: bytes }
        thread.worker.postMessage(message, [bytes.buffer])
      },
      async compile(settings) {
        const reply = await ask(thread, { kind: 'compile', set, job: next(), settings })
        return reply.kind === 'compiled' ? reply.tookMs : 0
      },
      async decide(request, now) {
        const reply = await ask(thread, { kind: 'decide', set, job: next(), request, now })
        if (reply.kind !== 'decided') throw new TypeError('the worker answered something else')
        return reply.decision
      },
      drop() {
        isDropped = true
        const message: WorkerRequest = { kind: 'drop', set }
        thread.worker.postMessage(message, [])
      },
      isLost: () => isDropped || thread.hasEnded,
    }
  }

  return {
    open,
    async close() {
      const thread = current
      if (thread === null) return
      end(thread)
      await thread.worker.terminate()
    },
  }
}

function tryAgain(): ApiError {
  return new ApiError(429, 'limit_exceeded', 'the policies must be compiled again; try again', {
    headers: { 'retry-after': '1' },
  })
}
