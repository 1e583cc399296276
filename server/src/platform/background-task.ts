/** Work that a server repeats in the background. */
export interface BackgroundTask {
  /** Begins in `intervalMs`, and each time so long after the last one ended. */
  start(): void
  /** Begins no further run, and resolves when the present one is over. */
  stop(): Promise<void>
}

export function createBackgroundTask(deps: {
  readonly intervalMs: number
  /** Long work asks `isStopping` between its parts, and ends. */
  readonly run: (isStopping: () => boolean) => Promise<void>
  readonly onError: (error: unknown) => void
}): BackgroundTask {
  let stopping = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null

  function begin(): void {
    running = deps
      .run(() => stopping)
      .catch(deps.onError)
      .finally(wait)
  }

  function wait(): void {
    if (!stopping) timer = setTimeout(begin, deps.intervalMs).unref()
  }

  return {
    start: wait,
    async stop() {
      stopping = true
      clearTimeout(timer)
      await running
    },
  }
}
