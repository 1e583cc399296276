import { ApiError } from './api-error.ts'

/** Whether requests should be sent here; behind `/readyz`. */
export interface Readiness {
  /** Throws while the store does not answer, and once the server is going to stop. */
  check(): Promise<void>
  announceStop(): void
}

export function createReadiness(ping: () => Promise<void>): Readiness {
  let isStopping = false
  return {
    async check() {
      if (isStopping) throw new ApiError(503, 'internal', 'the server is about to stop')
      await ping()
    },
    announceStop() {
      isStopping = true
    },
  }
}
