import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Repeats one decision request at a fixed rate, from its own thread. */
export interface DecisionClock {
  /** Returns the milliseconds of every request sent since the last call, after all are answered. */
  take(): Promise<number[]>
  stop(): Promise<void>
}

/** Worker data of the thread. */
export interface ClockTask {
  readonly socketPath: string
  readonly body: string
}

export async function startDecisionClock(
  socketPath: string,
  wanted: object,
): Promise<DecisionClock> {
  const workerData: ClockTask = { socketPath, body: JSON.stringify(wanted) }
  const worker = new Worker(new URL('decision-clock-worker.ts', import.meta.url), { workerData })
  await once(worker, 'online')
  return {
    async take() {
      const answered = once(worker, 'message')
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- thread, no window
      worker.postMessage('take')
      const [took] = (await answered) as [number[]]
      return took
    },
    async stop() {
      await worker.terminate()
    },
  }
}
