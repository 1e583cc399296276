/** Runs tasks one after another. A task that still waits is not queued again. */
export interface TaskQueue {
  /** Tasks with the same key are the same task. */
  once(key: string, task: () => Promise<void>): void
  /** Resolves when the tasks that were queued until now are done. Never rejects. */
  settled(): Promise<void>
}

/** Tasks that wait when the signal aborts are dropped. `onError` gets each error of a task. */
export function createTaskQueue(signal: AbortSignal, onError: (error: unknown) => void): TaskQueue {
  const waiting = new Set<string>()
  let last = Promise.resolve()
  return {
    once(key, task) {
      if (waiting.has(key)) return
      waiting.add(key)
      last = last
        .then(() => {
          waiting.delete(key)
          return signal.aborted ? undefined : task()
        })
        .catch(onError)
    },
    settled: () => last,
  }
}
