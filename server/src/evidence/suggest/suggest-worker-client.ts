import { limitExceeded, type ApiError } from '../../platform/api-error.ts'
import type { StartWorker } from '../../platform/start-worker.ts'
import type { Suggestions } from './suggest.ts'
import {
  decodeSuggestions,
  encodePart,
  type SuggestWorkerMessage,
  type SuggestWorkerParts,
  type SuggestWorkerReply,
} from './suggest-worker-messages.ts'

/** Crafted patterns can take long to compile and to compare. */
const TIME_LIMIT_MS = 60_000
/** Others wait for the only worker. */
const GONE_CHECK_MS = 500

/** One calculation in a process of its own. */
export interface SuggestWorker {
  send<Part extends keyof SuggestWorkerParts>(part: Part, value: SuggestWorkerParts[Part]): void
  /**
   * After the last part. Throws ApiError 403 when the calculation takes too much time or memory,
   * and an error soon after the caller has gone.
   */
  answer(isGone?: () => boolean): Promise<Suggestions>
  stop(): Promise<void>
}

/** Starts a process that serves one request: suggestions are rare, and its memory is freed. */
export function startSuggestWorker({
  startWorker,
  timeLimitMs = TIME_LIMIT_MS,
}: {
  readonly startWorker: StartWorker
  readonly timeLimitMs?: number
}): SuggestWorker {
  const worker = startWorker('suggest-worker', {})
  // The server must not wait for this process when it stops.
  worker.unref()
  const { promise, resolve, reject } = Promise.withResolvers<SuggestWorkerReply>()
  // A worker may end before its answer is awaited.
  promise.catch(() => {})
  worker.once('message', (reply: SuggestWorkerReply) => resolve(reply))
  worker.once('error', (error: NodeJS.ErrnoException) =>
    reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch() : error),
  )
  worker.once('exit', () => reject(new Error('the worker has ended')))

  return {
    send(part, value) {
      const json = encodePart(value)
      const message: SuggestWorkerMessage = { part, json }
      worker.postMessage(message, [json.buffer])
    },
    async answer(isGone = () => false) {
      const timer = setTimeout(() => reject(tooMuch()), timeLimitMs)
      const watch = setInterval(() => {
        if (isGone()) reject(limitExceeded('the caller has gone'))
      }, GONE_CHECK_MS)
      try {
        const reply = await promise
        if (!reply.ok) throw new Error(`the suggestions failed: ${reply.message}`)
        return decodeSuggestions(reply.json)
      } finally {
        clearTimeout(timer)
        clearInterval(watch)
      }
    },
    async stop() {
      await worker.terminate()
    },
  }
}

function tooMuch(): ApiError {
  return limitExceeded('the suggestions take too much time or memory; ask for a shorter time')
}
