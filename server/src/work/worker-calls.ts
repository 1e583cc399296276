import type { RunningWorker } from '../platform/start-worker.ts'
import { decodeFailure } from './failure.ts'
import { CLOSE, type FromWorker, type ToWorker } from './serve-calls.ts'

/** How a worker ended before it answered a call. */
export interface WorkerEnd {
  readonly cause: Error
  /** Whether the worker was at this call, the oldest one, when it ended. */
  readonly isRunning: boolean
  /** Since the worker answered last, or got this call. */
  readonly silentMs: number
}

export type Refuse = (end: WorkerEnd) => Error

export interface WorkerCallOptions {
  /** Longest wait for an answer while calls wait. The worker is ended after it. */
  readonly answerWithinMs: number
  /**
   * Longest wait for an answer of a worker that has just been started; a thread may take seconds.
   */
  readonly startWithinMs?: number
  /** Makes the error of a call that is not answered. */
  readonly refuse: Refuse
  /** Called with each message of the worker that answers no call. */
  readonly onNotice?: (notice: unknown) => void
  readonly onEnd?: (cause: Error) => void
}

type Transfer = Parameters<RunningWorker['postMessage']>[1]

/** The calls of a worker that runs `serveCalls`. */
export interface WorkerCalls {
  /**
   * Resolves to the value that the worker answers, or rejects with its error. `refuse` makes the
   * error of this call if it is not answered.
   */
  call<Value>(message: unknown, refuse?: Refuse, transfer?: Transfer): Promise<Value>
  /** Sends a message without an answer. */
  send(message: unknown, transfer?: Transfer): void
  /** Ends the worker at once, with all calls that wait. Resolves when it has ended. */
  end(cause: Error): Promise<void>
  /** Lets the worker answer all calls and close what it has open. Ends it after `withinMs`. */
  close(withinMs: number): Promise<void>
  hasEnded(): boolean
}

/** No answer within the time. */
export class SilentWorkerError extends Error {
  override readonly name = 'SilentWorkerError'

  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
  }
}

interface Waiting {
  readonly refuse: Refuse
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

/** The process does not wait for this worker when it stops. */
export function callWorker(worker: RunningWorker, options: WorkerCallOptions): WorkerCalls {
  const { answerWithinMs, startWithinMs = answerWithinMs, onNotice, onEnd } = options
  const { promise: whenEnded, resolve: resolveEnded } = Promise.withResolvers<void>()
  /** In the order of the calls. */
  const waiting = new Map<number, Waiting>()
  let numbers = 0
  let hasAnswered = false
  let hasEnded = false
  let sinceMs = 0
  let timer: NodeJS.Timeout | undefined

  function watch(): void {
    clearTimeout(timer)
    sinceMs = performance.now()
    const limitMs = hasAnswered ? answerWithinMs : startWithinMs
    if (waiting.size > 0)
      timer = setTimeout(() => void end(new SilentWorkerError(limitMs)), limitMs).unref()
  }

  function end(cause: Error): Promise<void> {
    if (hasEnded) return whenEnded
    hasEnded = true
    clearTimeout(timer)
    const silentMs = performance.now() - sinceMs
    let isRunning = true
    for (const { refuse, reject } of waiting.values()) {
      reject(refuse({ cause, isRunning, silentMs }))
      isRunning = false
    }
    waiting.clear()
    onEnd?.(cause)
    worker.terminate().then(
      () => resolveEnded(),
      () => resolveEnded(),
    )
    return whenEnded
  }

  worker.unref()
  worker.once('error', (error: Error) => void end(error))
  worker.once('exit', (code: number) => void end(new Error(`it exited with code ${code}`)))
  worker.on('message', (message: FromWorker) => {
    hasAnswered = true
    if (!('id' in message)) {
      watch()
      if ('notice' in message) onNotice?.(message.notice)
      return
    }
    const call = waiting.get(message.id)
    waiting.delete(message.id)
    watch()
    if ('failure' in message) call?.reject(decodeFailure(message.failure))
    else call?.resolve(message.value as never)
  })

  function post(message: ToWorker, transfer: Transfer = []): void {
    worker.postMessage(message, transfer)
  }

  return {
    async call(message, refuse = options.refuse, transfer = []) {
      if (hasEnded)
        throw refuse({ cause: new Error('it has ended'), isRunning: false, silentMs: 0 })
      const { promise, resolve, reject } = Promise.withResolvers<never>()
      const id = (numbers += 1)
      // Throws for a message that cannot be copied, which no worker would answer.
      post({ id, message }, transfer)
      waiting.set(id, { refuse, resolve, reject })
      if (waiting.size === 1) watch()
      return promise
    },
    send(message, transfer) {
      if (!hasEnded) post({ message }, transfer)
    },
    end,
    async close(withinMs) {
      if (!hasEnded) {
        worker.ref()
        post(CLOSE)
      }
      const late = setTimeout(() => void end(new SilentWorkerError(withinMs)), withinMs)
      await whenEnded
      clearTimeout(late)
    },
    hasEnded: () => hasEnded,
  }
}
