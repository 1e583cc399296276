import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Asks an agent for one decision again and again, in a thread of its own. */
export interface DecisionClock {
  /** Milliseconds of every decision that was asked for since the last call; waits for their answers. */
  take(): Promise<number[]>
  stop(): Promise<void>
}

/** Arguments of the thread. */
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
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of windows, not of threads
      worker.postMessage('take')
      const [took] = (await answered) as [number[]]
      return took
    },
    async stop() {
      await worker.terminate()
    },
  }
}
