import type { Decision } from '@palisade/policy-core'
import type { DetailedPolicy } from '@palisade/protocol'
import { ApiError } from '../../platform/api-error.ts'
import { startThread, type StartWorker } from '../../platform/start-worker.ts'
import { callWorker, type WorkerCalls, type WorkerEnd } from '../../work/worker-calls.ts'
import type { EvaluatedSettings, PolicyMessage } from './worker-messages.ts'

/** Enough for all kept sets and one more that is being compiled. */
const MAX_HEAP_MIB = 256
/** Crafted patterns can take many seconds to compile. */
const TIME_LIMIT_MS = 10_000
/** A start on a busy machine must not count for the first set. */
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

export function createPolicyWorker({
  startWorker = startThread,
  timeLimitMs = TIME_LIMIT_MS,
}: { readonly startWorker?: StartWorker; readonly timeLimitMs?: number } = {}): PolicyWorker {
  /** One thread, started with the first set and again after its end. */
  let thread: WorkerCalls | null = null
  let numbers = 0

  function start(): WorkerCalls {
    const worker = startWorker('policy-worker', {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    })
    return callWorker(worker, {
      startWithinMs: START_LIMIT_MS,
      answerWithinMs: timeLimitMs,
      refuse: tryAgain,
    })
  }

  return {
    open() {
      if (thread === null || thread.hasEnded()) thread = start()
      return openSet(thread, (numbers += 1))
    },
    async close() {
      await thread?.end(new Error('the server is stopping'))
    },
  }
}

function openSet(thread: WorkerCalls, set: number): WorkerSet {
  let isDropped = false
  const send = (message: PolicyMessage, transfer: ArrayBuffer[] = []): void =>
    thread.send(message, transfer)
  const call = <Value>(
    message: PolicyMessage,
    refuse?: (end: WorkerEnd) => Error,
  ): Promise<Value> => thread.call(message, refuse)

  return {
    add(policy) {
      // A buffer is transferred in one step; the strings of an object would be copied one by one.
      const bytes = UTF8.encode(JSON.stringify(policy))
      send({ kind: 'add', set, policy: bytes }, [bytes.buffer])
    },
    compile: (settings) =>
      call({ kind: 'compile', set, settings }, ({ isRunning, silentMs }) =>
        isRunning ? new UncompilableError(silentMs) : tryAgain(),
      ),
    decide: (request, now) => call({ kind: 'decide', set, request, now }),
    drop() {
      isDropped = true
      send({ kind: 'drop', set })
    },
    isLost: () => isDropped || thread.hasEnded(),
  }
}

function tryAgain(): ApiError {
  return new ApiError(429, 'limit_exceeded', 'the policies must be compiled again; try again', {
    headers: { 'retry-after': '1' },
  })
}
