/** Runs one task again and again, never twice at the same time. */
export interface UploadTurns {
  /** Runs it within this time, or after the pause. An earlier time stands. */
  within(ms: number): void
  /** Runs it next after this time, and not before. */
  pause(ms: number): void
  /** Resolves when a running task has ended; there is no further one. */
  stop(): Promise<void>
}

export function createUploadTurns(deps: {
  /** Must not reject. */
  readonly run: () => Promise<void>
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}): UploadTurns {
  const { uptime } = deps
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let isStopped = false
  /** Infinity without a reason to run. */
  let dueMs = Infinity
  let pausedUntilMs = 0

  const arm = (): void => {
    clearTimeout(timer)
    if (isStopped || running !== null || dueMs === Infinity) return
    const leftMs = Math.max(dueMs, pausedUntilMs) - uptime()
    timer = setTimeout(begin, Math.max(0, leftMs)).unref()
  }
  const begin = (): void => {
    dueMs = Infinity
    running = deps.run().finally(() => {
      running = null
      arm()
    })
  }

  return {
    within(ms) {
      dueMs = Math.min(dueMs, uptime() + ms)
      arm()
    },
    pause(ms) {
      pausedUntilMs = uptime() + ms
      dueMs = pausedUntilMs
      arm()
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
