import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { WorkerAnswer, WorkerRequest, WorkerTask } from './agent-worker.ts'
import type { Fleet } from './fill-fleet.ts'

const PATIENCE_MS = 10 * 60_000

/** A fleet's agents, on as many threads as there are processors: on one they would wait for each other. */
export interface AgentThreads {
  /** So many more on each thread. */
  start(count: number): Promise<void>
  /** Resolves once all that run allow the host; rejects after ten minutes. */
  untilAllowed(host: string): Promise<WorkerAnswer>
  stop(): Promise<void>
}

export function startAgentThreads(fleet: Fleet, server: string): AgentThreads {
  const count = Math.min(availableParallelism(), fleet.machines.length)
  const workers = Array.from({ length: count }, (_, index) => {
    const machines = fleet.machines.filter((_machine, each) => each % count === index)
    const workerData: WorkerTask = { fleet: { ...fleet, machines }, server }
    return new Worker(new URL('agent-worker.ts', import.meta.url), { workerData })
  })

  async function askAll(request: WorkerRequest): Promise<WorkerAnswer> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const answers = await Promise.all(
      workers.map(async (worker) => {
        const answered = once(worker, 'message', { signal })
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of windows, not of threads
        worker.postMessage(request)
        const [answer] = (await answered) as [WorkerAnswer]
        return answer
      }),
    )
    return {
      toldAtMs: answers.flatMap(({ toldAtMs }) => toldAtMs),
      allowedAtMs: answers.flatMap(({ allowedAtMs }) => allowedAtMs),
      silent: answers.reduce((sum, { silent }) => sum + silent, 0),
    }
  }

  return {
    async start(some) {
      await askAll({ kind: 'start', count: some })
    },
    untilAllowed: (host) => askAll({ kind: 'wait', host }),
    async stop() {
      await askAll({ kind: 'stop' })
    },
  }
}
