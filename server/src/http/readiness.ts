import { setTimeout as pause } from 'node:timers/promises'
import { ApiError } from '../platform/api-error.ts'

/** Shorter than the timeout of most probes, which would otherwise wait for a hanging store. */
const ANSWER_WITHIN_MS = 3_000

/** Tells, for `/readyz`, whether this server should receive requests. */
export interface Readiness {
  /** Throws 503 when the store does not answer in time, and once the server is stopping. */
  check(): Promise<void>
  announceStop(): void
}

export function createReadiness(
  ping: () => Promise<void>,
  withinMs: number = ANSWER_WITHIN_MS,
): Readiness {
  let isStopping = false
  return {
    async check() {
      if (isStopping) throw new ApiError(503, 'internal', 'the server is about to stop')
      const answered = new AbortController()
      const late = pause(withinMs, undefined, { signal: answered.signal }).then(() => {
        throw new ApiError(503, 'internal', 'the store does not answer')
      })
      try {
        await Promise.race([ping(), late])
      } finally {
        answered.abort()
      }
    },
    announceStop() {
      isStopping = true
    },
  }
}
